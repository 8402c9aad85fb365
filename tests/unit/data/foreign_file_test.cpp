#include "data/picture_sources/foreign_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "data_fixtures.hpp"
#include "support/temp_dir.hpp"
#include "tandem/data/packed_file.hpp"

namespace tandem::data {
namespace {

using testing::expect_error;
using testing::png;
using testing::write_bytes;

class ForeignFile : public ::testing::Test {
 protected:
  ForeignFile() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder_.path());
  }
  ~ForeignFile() override { std::filesystem::current_path(before_); }

  static std::string picture(int size) {
    return png(size, size, 3, std::string(3 * size * size, 7));
  }
  static void expect_refused(const std::string& path, const std::vector<std::string>& parts) {
    expect_error(ExitCode::kBadData, parts, [&] { PackedFile file(path); });
  }

  testing::TempDir folder_;
  const std::filesystem::path before_;
};

TEST_F(ForeignFile, FoldersOfPicturesAreNamedWithTheOptionsThatTheyNeed) {
  write_bytes("pets/cat/a.png", picture(8));
  write_bytes("pets/dog/b.png", picture(8));
  EXPECT_STREQ(not_packed("pets/").what(),
               "pets/: is a folder of pictures, a packed data set was expected; pack it: tandem "
               "pack --input pets/ --test-split 0.2 --output pets.h5");
  write_bytes("pets/dog/c.png", picture(9));
  expect_refused("pets", {"--test-split 0.2 --size 64x64 --output pets.h5"});
  write_bytes("my set/train/cat/a.png", picture(8));
  write_bytes("my set/test/cat/a.png", picture(8));
  expect_refused("my set", {"pack it: tandem pack --input 'my set' --output 'my set.h5'"});
}

TEST_F(ForeignFile, PublishedFormsAreNamed) {
  testing::write_mnist("mnist", 3, 2);
  expect_refused("mnist", {"MNIST's form", "tandem pack --input mnist --output mnist.h5"});
  expect_refused("mnist/train-images-idx3-ubyte",
                 {"one of MNIST's four files", "--input mnist --output mnist.h5"});
  testing::write_cifar10("cifar-10-batches-bin", 2);
  expect_refused("cifar-10-batches-bin", {"CIFAR-10", "--input cifar-10-batches-bin"});
  write_bytes("a/cifar.tar.gz", testing::gzip("x"));
  expect_refused("a/cifar.tar.gz", {"--input a/cifar.tar.gz --output cifar.h5"});
  write_bytes("p.tgz",
              testing::gzip(testing::tar_member("pets/cat/1.jpg", "x") + testing::tar_end()));
  expect_refused("p.tgz", {"an archive of pictures", "tar -xf p.tgz && tandem pack --input pets "});
}

TEST_F(ForeignFile, ListsAndArchivesWithLabelsAreNamed) {
  write_bytes("pets.csv", "a.jpg,cat\n");
  EXPECT_STREQ(not_packed("pets.csv").what(),
               "pets.csv: is a list, a packed data set was expected; pack it: tandem pack --input "
               "pets.csv --store encoded --test-split 0.2 --output pets.h5");
  write_bytes("my list.TSV", "a.jpg\tcat\n");
  expect_refused("my list.TSV", {"a list", "--input 'my list.TSV' --store encoded"});
  write_bytes("shard.tar", testing::tar_member("1.jpg", "x") + testing::tar_member("1.cls", "0") +
                               testing::tar_end());
  expect_refused("shard.tar", {"an archive of pictures and labels",
                               "pack --input shard.tar --store encoded --test-split 0.2 --output "
                               "shard.h5"});
  write_bytes("tree.tar", testing::tar_member("pets/cat/1.jpg", "x") + testing::tar_end());
  expect_refused("tree.tar", {"an archive of pictures, ", "tar -xf tree.tar && tandem pack"});
  write_bytes("other.tar", testing::tar_member("readme", "x") + testing::tar_end());
  expect_refused("other.tar", {"'tandem pack --input FOLDER --output FILE.h5' was expected"});
}

TEST_F(ForeignFile, ArraysOfNumpyAreNamed) {
  write_bytes("one.npz", testing::zip({{"images.npy", "x"}, {"labels.npy", "x"}}));
  expect_refused("one.npz", {"numpy", "--input one.npz --test-split 0.2 --output one.h5"});
  write_bytes("two.npz", testing::zip({{"x_train.npy", "x"}, {"x_test.npy", "x"}}));
  expect_refused("two.npz", {"tandem pack --input two.npz --output two.h5"});
  write_bytes("cut.npz", "PK\x03\x04");
  expect_refused("cut.npz", {"tandem pack --input cut.npz"});
}

TEST_F(ForeignFile, FilesOfPyTorchAndOfRunsAreNamed) {
  write_bytes("a.pth", testing::zip({{"a/data.pkl", "x"}}));
  expect_refused("a.pth", {"torch.save()", "torch.load() reads it", "to_safetensors.py"});
  write_bytes("a.pt", testing::zip({{"a/data.pkl", "x"}, {"a/constants.pkl", "x"}}));
  expect_refused("a.pt", {"a TorchScript network", "tandem train --model ./a.pt --data FILE.h5"});
  write_bytes("b.zip", testing::zip({{"b", "x"}}));
  expect_refused("b.zip", {"a zip archive", "'tandem pack "});
  write_bytes("runs/a/manifest.json", "{}");
  expect_refused("runs/a", {"folder of a run", "tandem eval --data FILE.h5 --checkpoint runs/a"});
  expect_refused("runs/a/manifest.json", {"a JSON file", "tandem inspect runs/a shows its run"});
  write_bytes("c.json", "{}");
  expect_refused("c.json", {"c.json: is a JSON file"});
  write_bytes("d.safetensors", std::string("\x02\0\0\0\0\0\0\0{}", 10));
  expect_refused("d.safetensors", {"tensors", "--checkpoint d.safetensors"});
}

TEST_F(ForeignFile, PicturesAndOtherFilesAreNamed) {
  write_bytes("a.png", picture(2));
  expect_refused("a.png", {"a PNG picture", "tandem predict --checkpoint RUN a.png"});
  write_bytes("a.h5", "hello\n");
  expect_refused("a.h5", {"text that begins with 'hello'", "'tandem pack --input FOLDER"});
  std::filesystem::create_directory("empty");
  expect_refused("empty", {"a folder that holds no known data set"});
}

TEST_F(ForeignFile, KnownNamesAreMade) {
  EXPECT_EQ(how_to_make("absent.h5"), "");
  EXPECT_EQ(how_to_make("CIFAR_10"),
            "; make it: data/fetch_cifar10.sh && tandem pack --input cifar-10-binary.tar.gz "
            "--output CIFAR_10.h5");
  EXPECT_EQ(how_to_make("d/synthetic.h5"),
            "; make it: tandem pack --input synthetic --output d/synthetic.h5");
  write_bytes("mnist.h5", "x");
  EXPECT_EQ(how_to_make("mnist"), "; did you mean mnist.h5?");
  expect_error(ExitCode::kMissingInput, {"cifar100: cannot be read", "curl -O https://"},
               [] { PackedFile file("cifar100"); });
}

}  // namespace
}  // namespace tandem::data
