// How the bytes of a fuzzer become the files that a reader is given.
//
// A checksum, a length or a run of zeros that has to be right stops a fuzzer at the door. So each
// file begins with a byte of flags that say what is done for it, none of which a reader relies on;
// make_seeds.py writes the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::fuzz {

enum Flag : unsigned {
  kZeroRuns = 1,   // a zero byte and a 16-bit little-endian number stand for that many zeros
  kChecksums = 2,  // tar, PNG: the checksum of every header or chunk is made right
  kGzip = 4,       // the file is compressed
  kLength = 8,     // safetensors: the length of the header is put before it
  kSeal = 16,      // safetensors: the SHA-256 is made right, where there is one
};

// The files of an input of several, kBetweenFiles between them; those that it lacks are empty.
constexpr std::string_view kBetweenFiles = "FILE";
std::vector<std::string_view> split_files(std::string_view input, std::size_t count);

// Takes the first byte off; 0 where there is none.
unsigned take_flags(std::string_view& file);
std::string expand_zero_runs(std::string_view packed);
std::string gzip(const std::string& content);
// All three of them, for files that have no other flags.
std::string make_file(std::string_view file);

}  // namespace tandem::fuzz
