#include "packed_attributes.hpp"

#include <climits>
#include <cstring>

#include "data/files/name_rules.hpp"
#include "hdf5_handle.hpp"
#include "tandem/core/error.hpp"
#include "tandem/data/dataset_info.hpp"

namespace tandem::data {
namespace {

constexpr hsize_t kMaxValues = kMaxListedClasses;  // of any attribute
constexpr std::size_t kMaxTextBytes = 512;         // of one value; names have a lower limit

// Variable-length, because h5py shows those as str and fixed-length ones as bytes.
Hdf5Handle string_type() {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), H5T_VARIABLE);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}

void write_attribute(hid_t file, const char* name, hid_t file_type, hid_t memory_type, hid_t space,
                     const void* values) {
  const Hdf5Handle attribute(H5Acreate2(file, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
  if (attribute && H5Awrite(attribute.id(), memory_type, values) >= 0) return;
  const std::string reason = hdf5_reason();
  char path[PATH_MAX] = "";
  H5Fget_name(file, path, sizeof path);
  throw IoError(std::string(path) + ": attribute " + name + " cannot be written: " + reason);
}

Hdf5Handle vector_space(hsize_t size) {
  return Hdf5Handle(H5Screate_simple(1, &size, nullptr), H5Sclose);
}

// One attribute, opened for reading, with what all checks of it need.
class Attribute {
 public:
  Attribute(hid_t file, const std::string& path, const char* name)
      : path_(path), name_(name), id_(H5Aopen(file, name, H5P_DEFAULT), H5Aclose) {
    if (!id_) throw fault("is missing");
    type_ = Hdf5Handle(H5Aget_type(id_.id()), H5Tclose);
    const Hdf5Handle space(H5Aget_space(id_.id()), H5Sclose);
    const hssize_t count = H5Sget_simple_extent_npoints(space.id());
    if (!type_ || count < 1 || count > static_cast<hssize_t>(kMaxValues)) {
      throw fault("holds " + std::to_string(count) + " values, 1 to 1000 are expected");
    }
    count_ = static_cast<std::size_t>(count);
  }

  std::vector<std::string> strings() const {
    require_class(H5T_STRING, "text");
    return H5Tis_variable_str(type_.id()) > 0 ? variable_strings() : fixed_strings();
  }

  std::string string() const {
    const std::vector<std::string> values = strings();
    if (values.size() != 1) throw fault("holds several values, one is expected");
    return values[0];
  }

  std::vector<double> reals() const {
    require_class(H5T_FLOAT, "floating-point numbers");
    std::vector<double> values(count_);
    read(H5T_NATIVE_DOUBLE, values.data());
    return values;
  }

  std::vector<std::uint64_t> integers() const {
    require_class(H5T_INTEGER, "whole numbers");
    std::vector<std::uint64_t> values(count_);
    read(H5T_NATIVE_UINT64, values.data());
    return values;
  }

  std::int64_t integer() const {
    require_class(H5T_INTEGER, "a whole number");
    if (count_ != 1) throw fault("holds several values, one is expected");
    std::int64_t value = 0;
    read(H5T_NATIVE_INT64, &value);
    return value;
  }

  DataError fault(const std::string& text) const {
    return DataError(path_ + ": attribute " + name_ + " " + text);
  }

 private:
  void require_class(H5T_class_t expected, const char* description) const {
    if (H5Tget_class(type_.id()) != expected) {
      throw fault(std::string("has another type, ") + description + " expected");
    }
  }

  void read(hid_t memory_type, void* values) const {
    if (H5Aread(id_.id(), memory_type, values) < 0) {
      throw fault("cannot be read: " + hdf5_reason());
    }
  }

  std::vector<std::string> fixed_strings() const {
    const std::size_t size = H5Tget_size(type_.id());
    if (size == 0 || size > 4 * kMaxNameBytes) {
      throw fault("holds strings of " + std::to_string(size) + " bytes, at most 100 are expected");
    }
    std::string buffer(size * count_, '\0');
    read(type_.id(), buffer.data());
    const bool space_padded = H5Tget_strpad(type_.id()) == H5T_STR_SPACEPAD;
    std::vector<std::string> values;
    for (std::size_t i = 0; i < count_; ++i) {
      const char* text = buffer.data() + i * size;
      values.emplace_back(text, strnlen(text, size));
      if (space_padded) values.back().erase(values.back().find_last_not_of(' ') + 1);
    }
    return values;
  }

  std::vector<std::string> variable_strings() const {
    const Hdf5Handle memory_type = string_type();
    H5Tset_cset(memory_type.id(), H5Tget_cset(type_.id()));
    const Hdf5Handle space = vector_space(count_);
    std::vector<char*> texts(count_, nullptr);
    read(memory_type.id(), texts.data());
    std::vector<std::string> values;
    for (const char* text : texts) {
      values.emplace_back(text == nullptr ? "" : text);
      if (values.back().size() > kMaxTextBytes) throw fault("holds a text of more than 512 bytes");
    }
    H5Dvlen_reclaim(memory_type.id(), space.id(), H5P_DEFAULT, texts.data());
    return values;
  }

  std::string path_;
  std::string name_;
  Hdf5Handle id_;
  Hdf5Handle type_;
  std::size_t count_ = 0;
};

}  // namespace

void write_strings(hid_t file, const char* name, const std::vector<std::string>& values) {
  const Hdf5Handle type = string_type();
  std::vector<const char*> texts;
  for (const std::string& value : values) texts.push_back(value.c_str());
  write_attribute(file, name, type.id(), type.id(), vector_space(values.size()).id(), texts.data());
}

void write_string(hid_t file, const char* name, const std::string& value) {
  const Hdf5Handle type = string_type();
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const char* text = value.c_str();
  write_attribute(file, name, type.id(), type.id(), space.id(), &text);
}

void write_reals(hid_t file, const char* name, const std::vector<double>& values) {
  write_attribute(file, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, vector_space(values.size()).id(),
                  values.data());
}

void write_integer(hid_t file, const char* name, std::int64_t value) {
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  write_attribute(file, name, H5T_STD_I64LE, H5T_NATIVE_INT64, space.id(), &value);
}

void write_integers(hid_t file, const char* name, const std::vector<std::int64_t>& values) {
  write_attribute(file, name, H5T_STD_I64LE, H5T_NATIVE_INT64, vector_space(values.size()).id(),
                  values.data());
}

void read_attributes(hid_t file, const std::string& path, PackedCatalog& catalog) {
  const Attribute format(file, path, "format");
  if (const std::string found = format.string(); found != kFormatName) {
    throw format.fault("is '" + found + "', '" + kFormatName + "' is expected");
  }
  const Attribute version(file, path, "version");
  const std::int64_t found_version = version.integer();
  if (found_version != kFormatVersion && found_version != kVersion2) {
    throw version.fault("is " + std::to_string(found_version) +
                        ", this program reads versions 1 and 2");
  }
  catalog.version = static_cast<std::uint64_t>(found_version);
  const Attribute complete(file, path, "complete");
  if (complete.integer() != 1)
    throw complete.fault("is not 1: the file was not written to its end");
  catalog.name = Attribute(file, path, "name").string();
  if (found_version == kFormatVersion) {
    catalog.classes = Attribute(file, path, "classes").strings();
  } else {
    catalog.shape = Attribute(file, path, "shape").integers();
  }
  catalog.mean = Attribute(file, path, "mean").reals();
  catalog.std = Attribute(file, path, "std").reals();
  catalog.source_sha256 = Attribute(file, path, "source_sha256").string();
  if (H5Aexists(file, kExifOrientation) > 0) {
    catalog.exif_orientation = Attribute(file, path, kExifOrientation).integer() == 1 ? 1 : 0;
  }
  if (found_version == kVersion2 && H5Aexists(file, kParts) > 0) {
    // A negative number is far above the limits that are checked.
    catalog.part = static_cast<std::uint64_t>(Attribute(file, path, kPart).integer());
    catalog.parts = static_cast<std::uint64_t>(Attribute(file, path, kParts).integer());
    catalog.set_id = Attribute(file, path, kSet).string();
  }
  if (H5Aexists(file, kBrokenFiles) > 0) {
    const Attribute broken(file, path, kBrokenFiles);
    const std::int64_t count = broken.integer();
    if (count < 1) throw broken.fault("is " + std::to_string(count) + ", at least 1 is expected");
    catalog.broken_files = static_cast<std::uint64_t>(count);
  }
}

}  // namespace tandem::data
