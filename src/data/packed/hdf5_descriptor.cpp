#include "hdf5_descriptor.hpp"

#include <cstring>
#include <new>
#include <type_traits>

#include "hdf5_handle.hpp"
#include "tandem/core/error.hpp"

namespace tandem::data {
namespace {

// The driver's settings in the property list, which copies them.
struct Source {
  const File* file;
  std::exception_ptr* fault;
};

// HDF5 requires H5FD_t as the first member, and passes a pointer to it to each function below.
struct DescriptorFile {
  H5FD_t shared;
  Source source;
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

// HDF5 knows only that a call failed, and takes it for damage: the error waits for the caller.
template <typename Work>
bool attempt(const Source& source, const Work& work) {
  try {
    return work();
  } catch (const IoError&) {
    *source.fault = std::current_exception();
    return false;
  }
}

H5FD_t* open_descriptor(const char*, unsigned flags, hid_t properties, haddr_t) {
  if ((flags & H5F_ACC_RDWR) != 0) return nullptr;
  auto* file = new (std::nothrow) DescriptorFile{};
  if (file == nullptr) return nullptr;
  std::memcpy(&file->source, H5Pget_driver_info(properties), sizeof file->source);
  const bool is_known = attempt(file->source, [&] {
    file->end_of_file = file->source.file->size();
    return true;
  });
  if (is_known) return &file->shared;
  delete file;
  return nullptr;
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
  const bool is_read = attempt(
      self.source, [&] { return self.source.file->read_at(address, buffer, bytes) == bytes; });
  return is_read ? 0 : -1;
}

herr_t refuse_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) { return -1; }

H5FD_class_t make_driver() {
  H5FD_class_t driver = make_driver_class("tandem descriptor", 510);
  driver.maxaddr = HADDR_MAX / 2;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(Source);
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

Hdf5Handle open_hdf5(const File& file, std::exception_ptr& fault) {
  H5PLset_loading_state(0);  // a filter named in the file must not load a library
  const H5FD_class_t driver = make_driver();
  // Never unregistered: HDF5's H5FD_close() gives up the file's reference to the driver and then
  // calls it, so the file's must not be the last one.
  const hid_t registered = H5FDregister(&driver);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const Source source{&file, &fault};
  if (registered < 0 || H5Pset_driver(access.id(), registered, &source) < 0) {
    throw InternalError("HDF5 accepts no driver: " + hdf5_reason());
  }
  Hdf5Handle opened(H5Fopen(file.path().c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
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
