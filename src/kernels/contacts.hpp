// What: which lines of an image, of a filter and of a result meet in a convolution, along one side.
// Private to the module. Owns: nothing. Threads: any. Throws: std::bad_alloc.
#pragma once

#include <vector>

#include "tandem/kernels/convolution.hpp"

namespace tandem::kernels {

// The filter's line `tap` lies on the image's line `in` for the result's line `out`.
struct Contact {
  std::size_t tap = 0, in = 0, out = 0;
};

// Of `in` lines of an image and `out` of a result, in groups of an equal `by`: contacts[k] has
// those with k there. What would lie on padding is left out.
inline std::vector<std::vector<Contact>> contacts(const ConvolutionSizes& sizes, std::size_t in,
                                                  std::size_t out, std::size_t Contact::*by) {
  std::vector<std::vector<Contact>> groups(by == &Contact::tap  ? sizes.side
                                           : by == &Contact::in ? in
                                                                : out);
  for (std::size_t line = 0; line < out; ++line) {
    for (std::size_t tap = 0; tap < sizes.side; ++tap) {
      const std::size_t padded = line * sizes.stride + tap;
      if (padded < sizes.padding || padded - sizes.padding >= in) continue;
      const Contact contact{tap, padded - sizes.padding, line};
      groups[contact.*by].push_back(contact);
    }
  }
  return groups;
}

}  // namespace tandem::kernels
