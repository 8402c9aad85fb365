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

TEST(ModelDescription, ReadsWidthsAsPythonWritesThem) {
  auto metadata = description_of("mlp").to_metadata();
  metadata["hidden"] = "[512, 512]";
  EXPECT_EQ(hidden_widths_of(metadata, "x"), model::default_hidden_widths());
  metadata["hidden"] = "512";
  EXPECT_THROW(hidden_widths_of(metadata, "x"), DataError);
  metadata.erase("hidden");
  EXPECT_TRUE(hidden_widths_of(metadata, "x").empty());
}

TEST(ModelDescription, KeepsTheCropOfEvaluations) {
  ModelDescription description = description_of("lenet");
  EXPECT_EQ(description.to_metadata().count("eval_crop"), 0U) << "as before the option";
  EXPECT_EQ(ModelDescription::from_metadata(description.to_metadata(), "x").fit,
            data::Fit::kStretch);
  description.fit = data::Fit::kCenterCrop;
  auto metadata = description.to_metadata();
  EXPECT_EQ(metadata.at("eval_crop"), "center");
  EXPECT_EQ(ModelDescription::from_metadata(metadata, "x").fit, data::Fit::kCenterCrop);
  metadata["eval_crop"] = "five";
  EXPECT_THROW(ModelDescription::from_metadata(metadata, "x"), DataError);
}

TEST(ModelDescription, KeepsTheStem) {
  ModelDescription description = description_of("resnet34");
  EXPECT_EQ(description.to_metadata().at("stem"), "cifar");
  description.stem = model::Stem::kImagenet;
  auto metadata = description.to_metadata();
  EXPECT_EQ(metadata.at("stem"), "imagenet");
  EXPECT_EQ(ModelDescription::from_metadata(metadata, "x").stem, model::Stem::kImagenet);
  metadata.erase("stem");
  EXPECT_EQ(ModelDescription::from_metadata(metadata, "x").stem, model::Stem::kCifar)
      << "a file of an earlier version";
  metadata["stem"] = "7x7";
  EXPECT_THROW(ModelDescription::from_metadata(metadata, "x"), DataError);
  EXPECT_EQ(description_of("lenet").to_metadata().count("stem"), 0U);
  metadata = description_of("lenet").to_metadata();
  metadata["stem"] = "cifar";
  EXPECT_THROW(ModelDescription::from_metadata(metadata, "x"), DataError);
}

std::vector<model::NamedTensor> weights_of(const std::vector<std::vector<std::int64_t>>& shapes) {
  std::vector<model::NamedTensor> tensors;
  for (const auto& shape : shapes) {
    tensors.push_back({"fc" + std::to_string(tensors.size() + 1) + ".weight", torch::empty(shape)});
  }
  return tensors;
}

TEST(ModelFile, HoldsTheLayersThatItsMetadataNames) {
  ModelDescription description = description_of("mlp");  // of 64 pixels and 2 classes
  EXPECT_NO_THROW(require_layers("x", description, {})) << "of an earlier version";
  description.hidden = {7, 5};
  EXPECT_NO_THROW(require_layers("x", description, weights_of({{7, 64}, {5, 7}, {2, 5}})));
  for (const auto& shapes : std::vector<std::vector<std::vector<std::int64_t>>>{
           {},
           {{7, 64}, {5, 7}},          // no output
           {{7, 1}, {5, 7}, {2, 5}},   // of other pictures
           {{7, 64}, {5, 1}, {2, 5}},  // 65536 x 65536 would be a small file otherwise
           {{7, 64}, {5, 7}, {1, 5}},  // of other classes
           {{7, 64}, {5, 7}, {2, 1}},
           {{7, 64}, {35}, {2, 5}}}) {
    EXPECT_THROW(require_layers("x", description, weights_of(shapes)), DataError);
  }
}

}  // namespace
}  // namespace tandem::app
