#include "train/evaluation/test_time_augmentation.hpp"

#include <gtest/gtest.h>

namespace tandem::train {
namespace {

// Answers with one pixel, so that it is known which one a view has there; counts the questions.
class OnePixel : public model::Network {
 public:
  torch::Tensor forward(torch::Tensor images) override {
    ++questions;
    return images.select(3, 1).select(2, 2).clone();
  }
  int questions = 0;
};

TEST(LogitsOfViews, AveragesSixViews) {
  const torch::Tensor images = torch::rand({3, 2, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto pixel = [&images](int y, int x) { return images.select(3, x).select(2, y); };
  OnePixel network;
  const torch::Tensor found = logits_of_views(network, images, network.forward(images));
  EXPECT_EQ(network.questions, 6);
  // At (2, 1) of the image and its mirror image, and of those moved by one pixel; the one that is
  // moved down and right has its upper left there, and mirrored it is moved to the left.
  const torch::Tensor still = pixel(2, 1) + pixel(2, 3);
  const torch::Tensor moved = pixel(1, 0) + pixel(1, 2) + pixel(3, 2) + pixel(3, 4);
  EXPECT_TRUE(torch::allclose(found, still / 4 + moved / 8));
}

TEST(LogitsOfViews, ReflectsTheEdge) {
  const torch::Tensor images = torch::rand({1, 1, 3, 3});
  class Corner : public model::Network {
   public:
    torch::Tensor forward(torch::Tensor view) override { return view.select(3, 0).select(2, 0); }
  } network;
  const torch::Tensor found = logits_of_views(network, images, network.forward(images));
  const auto pixel = [&images](int y, int x) { return images[0][0][y][x].item<float>(); };
  const float still = pixel(0, 0) + pixel(0, 2);
  const float moved = pixel(1, 1) + pixel(1, 1) + pixel(1, 1) + pixel(1, 1);
  EXPECT_FLOAT_EQ(found.item<float>(), still / 4 + moved / 8);
}

}  // namespace
}  // namespace tandem::train
