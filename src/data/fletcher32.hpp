// The checksum that HDF5's filter "fletcher32" appends to a chunk, bit for bit:
// H5_checksum_fletcher32() of HDF5's src/H5checksum.c. It is J. G. Fletcher's sum over 16-bit words
// in big-endian order ("An Arithmetic Checksum for Serial Transmissions", IEEE Transactions on
// Communications 30, 1982); a last odd byte is the high half of a word. HDF5 stores the result as a
// little-endian 32-bit integer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::data {

std::uint32_t fletcher32(const std::uint8_t* data, std::size_t bytes);

}  // namespace tandem::data
