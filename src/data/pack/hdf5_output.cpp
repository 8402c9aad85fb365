#include "hdf5_output.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "data/packed/hdf5_handle.hpp"
#include "data/packed/user_block.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"

namespace tandem::data {

struct Hdf5Output::Target {
  Target(File file, bool is_kept) : output(std::move(file)), keeps(is_kept) {}

  // One open file object; HDF5 opens several and passes each to the functions below.
  struct Opened {
    H5FD_t base{};  // HDF5 requires it as the first member
    Target* target = nullptr;
    haddr_t end_of_addresses = 0;
  };
  static Opened& of(H5FD_t* file) { return *reinterpret_cast<Opened*>(file); }
  static const Opened& of(const H5FD_t* file) { return *reinterpret_cast<const Opened*>(file); }

  static H5FD_t* open(const char*, unsigned, hid_t properties, haddr_t) {
    const void* const info = H5Pget_driver_info(properties);
    auto* const opened = new Opened;
    opened->target = *static_cast<Target* const*>(info);
    return &opened->base;
  }
  static herr_t close(H5FD_t* file) {
    delete &of(file);
    return 0;
  }
  static int compare(const H5FD_t* one, const H5FD_t* other) {
    const std::less<const Target*> comes_before;
    return comes_before(of(one).target, of(other).target)   ? -1
           : comes_before(of(other).target, of(one).target) ? 1
                                                            : 0;
  }
  // The flags of HDF5's default driver (sec2) that affect the file's layout.
  static herr_t query(const H5FD_t*, unsigned long* flags) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
  }
  static haddr_t end_of_addresses(const H5FD_t* file, H5FD_mem_t) {
    return of(file).end_of_addresses;
  }
  static herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t, haddr_t address) {
    of(file).end_of_addresses = address;
    return 0;
  }
  static haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) { return of(file).target->end; }
  static herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t bytes,
                     void* buffer) {
    Target& target = *of(file).target;
    std::memset(buffer, 0, bytes);
    target.attempt([&] { target.output.read_at(address, buffer, bytes); });
    return 0;
  }
  static herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, std::size_t bytes,
                      const void* buffer) {
    Target& target = *of(file).target;
    target.end = std::max(target.end, address + bytes);
    target.attempt([&] { target.output.write_at(address, buffer, bytes); });
    return 0;
  }
  static herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
    Target& target = *of(file).target;
    target.end = of(file).end_of_addresses;
    // Kept content may lie beyond the end that HDF5 has reached.
    if (!target.keeps) target.attempt([&] { target.output.cut(target.end); });
    return 0;
  }

  static H5FD_class_t driver_class() {
    H5FD_class_t driver = make_driver_class("tandem", 511);
    driver.maxaddr = (haddr_t{1} << 62) - 1;
    driver.fc_degree = H5F_CLOSE_WEAK;
    driver.fapl_size = sizeof(void*);  // of the property, a Target*
    driver.open = open;
    driver.close = close;
    driver.cmp = compare;
    driver.query = query;
    driver.get_eoa = end_of_addresses;
    driver.set_eoa = set_end_of_addresses;
    driver.get_eof = end_of_file;
    driver.read = read;
    driver.write = write;
    driver.truncate = truncate;
    const H5FD_mem_t kinds[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(kinds), std::end(kinds), driver.fl_map);
    return driver;
  }

  template <typename Work>
  void attempt(Work work) {
    if (!failure.empty()) return;
    try {
      work();
    } catch (const IoError& error) {
      failure = error.what();
    }
  }

  File output;
  const bool keeps;
  haddr_t end = 0;
  std::string failure;  // the first one; nothing is written after it
};

Hdf5Output::Hdf5Output(const std::string& path, Content content) {
  const bool keeps = content == Content::kKept;
  const int descriptor = ::open(path.c_str(), O_RDWR | (keeps ? 0 : O_TRUNC) | O_CLOEXEC);
  if (descriptor < 0) throw CannotCreateError(path + ": " + errno_text());
  target_ = std::make_unique<Target>(File(descriptor, path), keeps);
  const H5FD_class_t driver = Target::driver_class();
  driver_ = Hdf5Handle(H5FDregister(&driver), H5FDunregister);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  Target* const target = target_.get();
  H5Pset_driver(access.id(), driver_.id(), &target);
  if (keeps) {
    H5Pset_meta_block_size(access.id(), kMetadataBytes);
    H5Pset_small_data_block_size(access.id(), 0);
  }
  const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_userblock(creation.id(), kUserBlockBytes);
  file_ = made(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose,
               "create the file");
}

Hdf5Output::~Hdf5Output() {
  // Without close(), an exception is in flight: drop what is still in HDF5's caches.
  if (file_ && target_->failure.empty()) target_->failure = "given up";
}

void Hdf5Output::check(herr_t code, const char* what) const {
  const std::string& failure = target_->failure;
  if (!failure.empty()) {
    throw Error(ExitCode::kIo, failure + "; make room there, or choose another --output");
  }
  if (code < 0) {
    throw Error(ExitCode::kIo,
                target_->output.path() + ": HDF5 cannot " + what + ": " + hdf5_reason());
  }
}

Hdf5Handle Hdf5Output::made(hid_t id, Hdf5Handle::Close by, const char* what) const {
  Hdf5Handle handle(id, by);  // before check(), so that the object is closed if check() throws
  check(handle ? 0 : -1, what);
  return handle;
}

void Hdf5Output::close() {
  const herr_t code = file_.reset();
  Target& target = *target_;
  if (target.keeps) target.attempt([&] { target.output.cut(target.end); });
  check(code, "close the file");
}

}  // namespace tandem::data
