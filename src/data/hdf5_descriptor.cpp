#include "hdf5_descriptor.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>

#include "hdf5_driver.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

// HDF5 requires H5FD_t as the first member, and passes a pointer to it to each function below.
struct DescriptorFile {
  H5FD_t shared;
  int descriptor;
  haddr_t end_of_addresses;
  haddr_t end_of_file;
  bool is_searching;  // a read of raw data is recorded in `found` and not done
  StoredChunk found;
};
static_assert(std::is_standard_layout_v<DescriptorFile>);

DescriptorFile& own(H5FD_t* file) { return *reinterpret_cast<DescriptorFile*>(file); }
const DescriptorFile& own(const H5FD_t* file) {
  return *reinterpret_cast<const DescriptorFile*>(file);
}

// The name is the number of the descriptor, which the caller owns.
H5FD_t* open_descriptor(const char* name, unsigned flags, hid_t, haddr_t) {
  if ((flags & H5F_ACC_RDWR) != 0) return nullptr;
  const int descriptor = std::atoi(name);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return nullptr;
  auto* file = new (std::nothrow) DescriptorFile{};
  if (file == nullptr) return nullptr;
  file->descriptor = descriptor;
  file->end_of_file = static_cast<haddr_t>(status.st_size);
  return &file->shared;
}

herr_t close_descriptor(H5FD_t* file) {
  delete &own(file);
  return 0;
}

haddr_t get_end_of_addresses(const H5FD_t* file, H5FD_mem_t) { return own(file).end_of_addresses; }

herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  own(file).end_of_addresses = address;
  return 0;
}

haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t) { return own(file).end_of_file; }

herr_t get_handle(H5FD_t* file, hid_t, void** handle) {
  *handle = &own(file);
  return 0;
}

herr_t read_descriptor(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, std::size_t bytes,
                       void* buffer) {
  DescriptorFile& self = own(file);
  if (self.is_searching && type == H5FD_MEM_DRAW) {
    self.found.offset = address;
    self.found.bytes = bytes;
    return 0;
  }
  if (address > self.end_of_file || bytes > self.end_of_file - address) return -1;
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(self.descriptor, static_cast<char*>(buffer) + done, bytes - done,
                                static_cast<off_t>(address + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    done += static_cast<std::size_t>(got);
  }
  return 0;
}

herr_t refuse_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) { return -1; }

H5FD_class_t make_driver() {
  H5FD_class_t driver = make_driver_class("tandem descriptor", 510);
  driver.maxaddr = HADDR_MAX / 2;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.open = open_descriptor;
  driver.close = close_descriptor;
  driver.get_eoa = get_end_of_addresses;
  driver.set_eoa = set_end_of_addresses;
  driver.get_eof = get_end_of_file;
  driver.get_handle = get_handle;
  driver.read = read_descriptor;
  driver.write = refuse_write;
  for (H5FD_mem_t& map : driver.fl_map) map = H5FD_MEM_DEFAULT;
  return driver;
}

}  // namespace

Hdf5Handle open_hdf5(const File& file) {
  H5PLset_loading_state(0);  // a filter named in the file must not load a library
  const H5FD_class_t driver = make_driver();
  const Hdf5Handle registered(H5FDregister(&driver), H5FDunregister);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (!registered || H5Pset_driver(access.id(), registered.id(), nullptr) < 0) {
    throw InternalError("HDF5 accepts no driver: " + hdf5_reason());
  }
  const std::string name = std::to_string(file.descriptor());
  Hdf5Handle opened(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
  if (!opened) throw DataError(file.path() + ": HDF5 cannot open it: " + hdf5_reason());
  return opened;
}

bool find_chunk(hid_t dataset, const std::vector<hsize_t>& origin, StoredChunk& chunk) {
  const Hdf5Handle file(H5Iget_file_id(dataset), H5Fclose);
  void* handle = nullptr;
  if (H5Fget_vfd_handle(file.id(), H5P_DEFAULT, &handle) < 0) {
    throw InternalError("HDF5 does not return its file driver: " + hdf5_reason());
  }
  auto& driver = *static_cast<DescriptorFile*>(handle);
  driver.found = {};
  driver.is_searching = true;
  std::uint32_t skipped = 0;
  char nothing = 0;  // the driver does not write to it
  const herr_t result = H5Dread_chunk(dataset, H5P_DEFAULT, origin.data(), &skipped, &nothing);
  driver.is_searching = false;
  chunk = driver.found;
  chunk.skipped = skipped;
  return result >= 0 && chunk.bytes > 0;
}

}  // namespace tandem::data
