#include "tandem/core/error.hpp"

namespace tandem {

std::string message_of(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find("\nException raised from"));
}

}  // namespace tandem
