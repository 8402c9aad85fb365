// Finds a picture that a list has under two paths: ./a.jpg, folder/../a.jpg, an absolute path, or a
// symbolic link. Throws DataError naming both.
#pragma once

#include <functional>
#include <string>

#include "encoded_listing.hpp"

namespace tandem::data {

// Refuses a picture that would be used for training and for testing. `is_drawn`: the test set is
// drawn from all pictures, so no picture may be there twice. Lists each folder of pictures once,
// and opens no picture. `input` begins messages. `check` is called often and may throw to end the
// search.
void require_different_files(const PictureListing& listing, const std::string& input, bool is_drawn,
                             const std::function<void()>& check);

}  // namespace tandem::data
