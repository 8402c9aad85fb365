#include "engine/model/model_file.hpp"

#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

namespace tandem::app {
namespace {

ModelDescription description_of(const std::string& model) {
  ModelDescription description;
  description.model = model;
  description.dataset = "shapes";
  description.shape = {1, 8, 8};
  description.classes = {"cat", "dog"};
  description.mean = {0.5};
  description.std = {0.25};
  return description;
}

TEST(ModelDescription, KeepsTheWidthsOfMlp) {
  ModelDescription narrow = description_of("mlp");
  narrow.hidden = {100, 7};
  const auto metadata = narrow.to_metadata();
  EXPECT_EQ(metadata.at("hidden"), "[100,7]");
  EXPECT_EQ(ModelDescription::from_metadata(metadata, "x").hidden, narrow.hidden);
  EXPECT_EQ(description_of("mlp").to_metadata().at("hidden"), "[512,512]");
  EXPECT_EQ(description_of("lenet").to_metadata().count("hidden"), 0U);
}

TEST(ModelDescription, OfAnEarlierVersionHasTheDefaultWidths) {
  auto metadata = description_of("mlp").to_metadata();
  metadata.erase("hidden");
  EXPECT_TRUE(ModelDescription::from_metadata(metadata, "x").hidden.empty());
}

TEST(ModelDescription, RefusesWidthsThatNoNetworkHas) {
  for (const auto& [model, hidden] :
       {std::make_pair("mlp", "[]"), std::make_pair("mlp", "[0]"), std::make_pair("mlp", "[65537]"),
        std::make_pair("mlp", "x"), std::make_pair("lenet", "[100]")}) {
    auto metadata = description_of(model).to_metadata();
    metadata["hidden"] = hidden;
    EXPECT_THROW(ModelDescription::from_metadata(metadata, "x"), DataError) << model << hidden;
  }
}

}  // namespace
}  // namespace tandem::app
