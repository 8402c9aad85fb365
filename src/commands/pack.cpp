// tandem pack: a published data set, images of one's own, or the built-in set into a packed file.
#include "tandem/data/pack.hpp"

#include <algorithm>
#include <optional>

#include "commands.hpp"
#include "pack_progress.hpp"
#include "tandem/comm/agree.hpp"
#include "tandem/core/cgroup.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/print.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/dataset_info.hpp"
#include "tandem/data/set_packing.hpp"

namespace tandem::app {
namespace {

constexpr std::uint64_t kMaxThreads = 1024;

// "64" or "48x64", height first as everywhere.
void read_size(const std::string& text, data::PackRequest& request) {
  if (text.empty()) return;
  constexpr std::int64_t kMax = 65'536;
  const std::vector<std::string> sides = split(text, 'x');
  if (sides.size() > 2 || !std::all_of(sides.begin(), sides.end(), is_digits)) {
    throw UsageError("--size: '" + text + "' is neither N nor HxW, such as 64x64");
  }
  request.height = static_cast<int>(parse_integer(sides.front(), 1, kMax, "--size"));
  request.width = static_cast<int>(parse_integer(sides.back(), 1, kMax, "--size"));
}

// Options for sets of files; another request that has them is an error.
void read_store(Options& options, data::PackRequest& request) {
  if (options.choice("store") == "encoded") request.store = data::Store::kEncoded;
  if (options.choice("check") == "structure") {
    request.picture_check = data::PictureCheck::kStructure;
  }
  request.keep_order = options.flag("keep-order");
  request.multi_label = options.flag("multi-label");
  request.threads = static_cast<int>(options.count("threads", 0, kMaxThreads));
  request.files = options.count("files", 0, data::kMaxParts);
  if (request.store == data::Store::kEncoded) return;
  for (const char* name : {"check", "files", "keep-order", "multi-label", "threads"}) {
    if (options.value(name).origin == Origin::kDefault) continue;
    options.add_fault(std::string("--") + name + " is for --store encoded only");
  }
}

data::PackRequest read_request(Options& options) {
  data::PackRequest request;
  options.require("input");
  options.require("output");
  request.input = options.text("input");
  request.output = options.text("output");
  request.format = options.choice("format");
  request.name = options.text("name");
  request.classes_file = options.text("classes");
  request.test_input = options.text("test-input");
  request.test_split = options.real("test-split", 0, 0.9);
  options.parsed("size", [&](const std::string& text) {
    read_size(text, request);
    return true;
  });
  request.channels = static_cast<int>(options.count("channels", 0, 3));
  if (request.channels == 2)
    options.add_fault("--channels: is 2, 1 (gray) or 3 (color) is expected");
  request.skip_broken = options.flag("skip-broken");
  read_store(options, request);
  request.images = options.count("images", 1, data::kMaxImages);
  request.seed = options.count("seed", 0, std::uint64_t{1} << 62);
  const bool is_synthetic = request.input == "synthetic" || request.format == "synthetic";
  if (!is_synthetic && options.value("images").origin != Origin::kDefault) {
    const bool is_misspelled = nearest(request.input, {"synthetic"}).has_value();
    options.add_fault(std::string("--images is for --input synthetic only") +
                      (is_misspelled ? "; did you mean --input synthetic?" : ""));
  }
  const bool is_drawn = is_synthetic || request.test_split > 0 ||
                        (request.store == data::Store::kEncoded && !request.keep_order);
  if (!is_drawn && options.value("seed").origin != Origin::kDefault) {
    options.add_fault(
        "--seed is for --input synthetic, --test-split and the order of --store encoded only");
  }
  options.throw_faults("pack");
  return request;
}

void warn_of_order(const data::PackRequest& request) {
  if (!request.keep_order) return;
  print_warning(
      "--keep-order: pictures stay in the order of the input, where neighbors often have the same "
      "class; leave it out unless something else needs that order");
}

void show_packed(const data::PackRequest& request, const std::string& output,
                 const data::DatasetInfo& info) {
  show_line(output + ": " + info.name + ", " + format_count(info.train_count) + " train and " +
            format_count(info.test_count) + " test images of " + info.shape.text() +
            (info.is_encoded()
                 ? " from files of " + format_bytes(info.train_bytes + info.test_bytes)
                 : "") +
            ", digest " + info.digest.substr(0, 16));
  if (info.turned_pictures > 0) {
    print_note(format_quantity(info.turned_pictures, "picture") + " of " + request.input +
               " turned upright by the EXIF orientation");
  }
  if (info.broken_files > 0) {
    print_warning(format_quantity(info.broken_files, "file") + " of " + request.input +
                  " cannot be packed and " + (info.broken_files == 1 ? "is" : "are") +
                  " left out; " + data::broken_list_path(request.output) + " has the reasons");
  }
}

void note_kept(const data::PackRequest& request, std::size_t missing) {
  if (missing == request.files) return;
  print_note(format_count(request.files - missing) + " of " +
             format_quantity(request.files, "file") + " of " +
             data::pattern_of_parts(request.output) + " are complete and kept");
}

int run_pack(const Arguments& arguments) {
  Options options = resolve_alone(pack_command(), arguments, false);
  data::PackRequest request = read_request(options);
  warn_of_order(request);
  PackProgress progress;
  request.on_progress = [&](std::uint64_t done, std::uint64_t all) { progress.show(done, all); };
  if (request.files == 0) {
    const data::DatasetInfo info = data::pack(request);
    progress.clear();
    show_packed(request, request.output, info);
    return 0;
  }
  data::SetPacking packing(request);
  const std::vector<std::uint64_t> missing = packing.missing_parts();
  note_kept(request, missing.size());
  const data::SetPacking::Packed packed = packing.pack(missing);
  progress.clear();
  show_packed(request, data::pattern_of_parts(request.output), packing.finish(packed));
  return 0;
}

// This rank's share of the parts that rank 0 finds incomplete.
std::vector<std::uint64_t> parts_of_rank(Job& job, const data::SetPacking& packing,
                                         const data::PackRequest& request) {
  std::vector<std::uint64_t> missing(request.files);  // 0: none
  comm::agree_on_rank_0(job.world, [&] {
    const std::vector<std::uint64_t> found = packing.missing_parts();
    note_kept(request, found.size());
    std::copy(found.begin(), found.end(), missing.begin());
  });
  job.world.broadcast(Span<std::uint64_t>(missing.data(), missing.size()));
  std::vector<std::uint64_t> own;
  for (auto i = static_cast<std::size_t>(job.topology.rank); i < missing.size();
       i += static_cast<std::size_t>(job.topology.world)) {
    if (missing[i] > 0) own.push_back(missing[i]);
  }
  return own;
}

// Gathers the broken files of all ranks, so that one error of rank 0 names them all.
data::SetPacking::Packed gather(Job& job, const data::SetPacking::Packed& mine) {
  data::SetPacking::Packed all;
  for (const std::string& each : job.world.gather_strings(mine.broken)) all.broken += each;
  for (const std::string& each : job.world.gather_strings(mine.addition)) {
    if (all.addition.empty()) all.addition = each;
  }
  all.turned_pictures = job.world.all_reduce_value<std::uint64_t>(mine.turned_pictures);
  return all;
}

int run_pack_in_job(Job& job, const Arguments& arguments) {
  Options options = resolve_together(job, "pack", pack_command().options, arguments);
  data::PackRequest request;
  std::optional<data::SetPacking> packing;
  std::optional<PackProgress> progress;
  if (job.is_root()) progress.emplace();
  comm::agree(job.world, [&] {
    request = read_request(options);
    if (request.files == 0) {
      throw UsageError(
          "--files 0 makes one file, in one process; start it without a launcher, or give the "
          "number of files");
    }
    if (request.threads == 0) {
      const int of_rank = usable_cpus() / job.topology.local_size;
      request.threads = std::max(of_rank, 1);
    }
    request.touch = [&job] { job.touch(); };
    request.on_progress = [&](std::uint64_t done, std::uint64_t all) {
      job.touch();
      if (progress) progress->show(done, all);
    };
    packing.emplace(request);
  });
  if (job.is_root()) warn_of_order(request);
  comm::require_equal(job.world, {{"pictures of " + request.input, packing->set_id()}});
  const std::vector<std::uint64_t> parts = parts_of_rank(job, *packing, request);
  // Without an agreement, so that an error of one rank ends the others at once.
  const data::SetPacking::Packed packed = gather(job, packing->pack(parts));
  comm::agree_on_rank_0(job.world, [&] {
    progress->clear();
    show_packed(request, data::pattern_of_parts(request.output), packing->finish(packed));
  });
  return 0;
}

OptionSpec input_option() {
  OptionSpec spec{"input", "PATH", "",
                  "published folder or .tar.gz, folder of pictures, FILE.csv or FILE.tsv of paths "
                  "and labels, WebDataset's FILE.tar, .npz, or the word synthetic",
                  "input"};
  spec.repetition = Repetition::kRefused;
  return spec;
}

}  // namespace

Command pack_command() {
  std::vector<std::string> formats = data::pack_formats();
  formats.insert(formats.begin(), "auto");
  const std::string default_images = std::to_string(data::kDefaultSyntheticImages);
  Command command{
      "pack",
      "--input PATH --output FILE.h5",
      "pack CIFAR, MNIST, images of one's own or the built-in data set into HDF5",
      "tandem pack --input synthetic --output synthetic.h5",
      {input_option(),
       {"test-input", "PATH", "", "test set of a list or of archives, in the same form", "input"},
       {"format", "NAME", "auto", join(formats, ", "), "input", {}, formats},
       {"name", "NAME", "", "of the data set, such as fashion-mnist", "input"},
       {"classes", "FILE", "", "names of the classes, one a line", "input"},
       {"size", "HxW", "",
        "of pictures, which are resized to it; with --store encoded 224x224 if not given", "input"},
       {"channels", "N", "0", "of pictures: 1 gray, 3 color; 0: as they are", "input"},
       {"store",
        "FORM",
        "pixels",
        "pixels of one size, or encoded: the picture files as they are",
        "input",
        {},
        {"pixels", "encoded"}},
       {"check",
        "HOW",
        "decode",
        "check of the files to store: decode each, or only check its structure",
        "input",
        {},
        {"decode", "structure"}},
       {"keep-order", "", "false", "store files in the order of the input, not a random one",
        "input"},
       {"threads", "N", "0", "threads that read files to store; 0: as many as suit the machine",
        "input"},
       {"multi-label", "", "false",
        "any number of labels for each picture: a;b in a list, several figures in the built-in set",
        "input"},
       {"test-split", "X", "0", "share of each class for testing; 0: there is a test set", "input"},
       {"skip-broken", "", "false", "leave broken files out, and list them in FILE.h5.broken.txt",
        "input"},
       {"images", "N", default_images, "training images of the built-in set", "input"},
       {"seed", "N", "0", "seed of the built-in set, the test split and the order of stored files",
        "input"},
       {"files", "N", "0",
        "number of files of the set, FILE-001.h5 and so on; ranks share the work; 0: one file",
        "output"},
       {"output", "FILE.h5", "", "appears only when it is complete", "output"}},
      run_pack,
      run_pack_in_job};
  command.together_with = "files";
  return command;
}

}  // namespace tandem::app
