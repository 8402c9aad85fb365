// Where the shipped recipes are.
#include <algorithm>
#include <filesystem>

#include "options.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/spawn.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

// Beside the program.
std::filesystem::path recipe_folder() {
  return std::filesystem::path(own_program()).parent_path().parent_path() / "share" / "tandem" /
         "recipes";
}

}  // namespace

std::vector<std::string> recipe_names() {
  std::error_code error;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(recipe_folder(), error)) {
    if (entry.path().extension() == ".conf") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_shipped_recipe(const std::string& name) {
  const std::vector<std::string> shipped = recipe_names();
  return std::find(shipped.begin(), shipped.end(), name) != shipped.end();
}

std::string find_recipe(const std::string& name) {
  namespace fs = std::filesystem;
  if (name.find('/') != std::string::npos || fs::path(name).extension() == ".conf") return name;
  const fs::path recipe = recipe_folder() / (name + ".conf");
  if (fs::exists(recipe)) return recipe.string();
  std::error_code error;
  if (fs::is_regular_file(name, error)) return name;
  const std::vector<std::string> known = recipe_names();
  if (known.empty()) {
    throw UsageError("--recipe: '" + name + "' is not a file, and " + recipe_folder().string() +
                     " holds no recipes; install tandem as a whole, or give the path of a recipe");
  }
  const auto suggestion = nearest(name, known);
  throw UsageError("--recipe: '" + name + "' is not one of " + join(known, ", ") +
                   (suggestion ? "; did you mean " + *suggestion + "?" : ""));
}

}  // namespace tandem::app
