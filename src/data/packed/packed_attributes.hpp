// Reads and writes the root attributes of a packed file by HDF5. Throws DataError naming file and
// attribute; IoError, naming them, too, if one cannot be written.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "packed_catalog.hpp"

namespace tandem::data {

constexpr char kFormatName[] = "tandem-dataset";
constexpr std::int64_t kFormatVersion = 1;
constexpr std::int64_t kVersion2 = 2;
// An attribute, 1 if EXIF's orientation was applied; absent from forms without pictures in files.
constexpr char kExifOrientation[] = "exif_orientation";
// The number of broken files, as an attribute, and their list, as a data set. Both exist only if
// there are broken files.
constexpr char kBrokenFiles[] = "broken_files";
// Attributes of a file that is one of several.
constexpr char kPart[] = "part";
constexpr char kParts[] = "parts";
constexpr char kSet[] = "set";

void write_string(hid_t file, const char* name, const std::string& value);
void write_strings(hid_t file, const char* name, const std::vector<std::string>& values);
void write_reals(hid_t file, const char* name, const std::vector<double>& values);
void write_integer(hid_t file, const char* name, std::int64_t value);
void write_integers(hid_t file, const char* name, const std::vector<std::int64_t>& values);

// Checks format, version and complete, then reads name, classes (of version 2 shape instead), mean,
// std and source_sha256 unchecked. HDF5 parses untrusted bytes here, so call it only in a child
// process.
void read_attributes(hid_t file, const std::string& path, PackedCatalog& catalog);

}  // namespace tandem::data
