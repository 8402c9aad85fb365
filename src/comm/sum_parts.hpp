// What: the one way in which all sums of ours are cut and added, so that their bits do not depend
// on who carries them: part r is added, beginning with rank r + 1, around to rank r, its owner.
// Module-private.
// Owns: nothing. Threads: any. Throws: nothing.
//
// A ring adds in no other order; one who has all values at hand can add in any.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tandem::comm {

class SumParts {
 public:
  SumParts(std::size_t count, int ranks)
      : count_(count), part_((lines_of(count) + of(ranks) - 1) / of(ranks) * kElementsOfLine) {}

  // Element numbers; of few elements the last parts are empty.
  std::size_t first(int part) const { return std::min(count_, of(part) * part_); }
  std::size_t size(int part) const { return first(part + 1) - first(part); }
  // Of the longest part.
  std::size_t most() const { return part_; }

 private:
  static constexpr std::size_t kElementsOfLine = 16;  // floats, which two ranks should not share

  static std::size_t of(int number) { return static_cast<std::size_t>(number); }
  static std::size_t lines_of(std::size_t count) {
    return (count + kElementsOfLine - 1) / kElementsOfLine;
  }

  std::size_t count_, part_;
};

}  // namespace tandem::comm
