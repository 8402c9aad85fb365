#include "cli/options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/loader_options.hpp"
#include "cli/option_hints.hpp"
#include "support/temp_dir.hpp"
#include "support/train_options.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/file.hpp"
#include "tandem/core/text.hpp"

namespace tandem::app {
namespace {

using testing::options_of;
using testing::request_of;
using testing::resolve_train;
using testing::TempDir;

std::string usage_error_of(const std::vector<std::string>& arguments) {
  try {
    Options options = resolve_train(arguments);
    read_train_options(options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(CommandLine, SuggestsTheNearestOption) {
  EXPECT_TRUE(contains(usage_error_of({"--batch-sise", "3"}), "did you mean --batch-size?"));
  EXPECT_TRUE(contains(usage_error_of({"--no-nestorov"}), "did you mean --no-nesterov?"));
}

TEST(CommandLine, AcceptsUnderscoresAndEqualSigns) {
  EXPECT_EQ(request_of({"--batch_size=32"}).config.batch_size, 32U);
  EXPECT_EQ(request_of({"--data=a_b.h5"}).config.data, "a_b.h5");
}

TEST(CommandLine, DoesNotGuessAbbreviations) {
  EXPECT_TRUE(contains(usage_error_of({"--batch", "3"}), "--batch is not an option"));
}

TEST(CommandLine, TellsDdpUsersWhatPlaysThePart) {
  for (const char* option : {"--nodes", "--gpus", "--node_rank", "--master_addr", "--master_port",
                             "--world-size", "--rank"}) {
    const std::string message = usage_error_of({option, "1"});
    EXPECT_TRUE(contains(message, "is not an option: ")) << message;
    EXPECT_FALSE(contains(message, "'1' was not expected")) << message;
  }
}

TEST(CommandLine, TellsUsersOfOtherTrainersWhatPlaysThePart) {
  const std::vector<std::pair<Arguments, const char*>> answers{
      {{"--devices", "2"}, "--devices is not an option: the launcher"},
      {{"--num_processes", "2"}, "--num-processes is not an option: the launcher starts"},
      {{"--mixed_precision", "bf16"}, "--mixed-precision is not an option; here it is --precision"},
      {{"--per_device_train_batch_size", "8"}, "; here it is --batch-size"},
      {{"--resume_from_checkpoint", "x"}, "; here it is --resume"},
      {{"--disable_tqdm"}, "; here it is --no-progress"},
      {{"--log-interval", "10"}, "; here it is --log-every"},
      {{"--dry-run"}, "; here it is --max-steps 1"},
      {{"--mixup-alpha", "0.2"}, ": --augment mixup=A"},
      {{"--save-model"}, ": the model of a run"},
      {{"--trainer.max_epochs=5"}, "--trainer.max-epochs is not an option; here it is --epochs"},
      {{"--trainer.precision=16"}, "; here it is --precision"},
      {{"--dataset", "cifar10"}, ": tandem pack makes one file"},
      {{"--precision", "16-mixed"}, "did you mean fp16?"},
      {{"--resume", "atuo"},
       "'atuo' is not one of auto, none, latest, a checkpoint; did you mean auto?"},
      {{"--resume", "false"}, "did you mean none?"},
      {{"--version"}, "--version is not an option: tandem --version shows it"},
      {{"--no-data"}, "--no-data is not an option: --data needs a value, FILE.h5"},
      {{"--no-epochs"}, "--epochs needs a value, X; leave it out for 10"},
      {{"--data", "--model", "mlp"}, "--data needs a value, FILE.h5 ("},
      {{"--data", "--model", "mlp"}, "; found --model in its place"},
      {{"--data", "--no-quiet"}, "; found --no-quiet in its place"},
      {{"--data", "--lr=0.1"}, "; found --lr in its place"},
      {{"--vers"}, "--vers is not an option"}};
  for (const auto& [words, answer] : answers) {
    EXPECT_TRUE(contains(usage_error_of(words), answer)) << usage_error_of(words);
  }
}

TEST(CommandLine, AMissingValueIsOneFault) {
  const std::string message = usage_error_of({"--data", "--model", "mlp", "--lr", "fast"});
  EXPECT_TRUE(contains(message, "--data needs a value")) << message;
  EXPECT_TRUE(contains(message, "--lr: 'fast'")) << message;
  EXPECT_FALSE(contains(message, "--data is missing")) << message;
}

TEST(CommandLine, AnOptionAfterOneWithoutValueCounts) {
  EXPECT_EQ(usage_error_of({"--data", "--modle", "mlp"}).find("--data is missing"),
            std::string::npos);
  for (const Arguments& words :
       {Arguments{"--data", "--modle", "mlp"}, Arguments{"--modle", "mlp", "--data"},
        Arguments{"--modle=", "--data="}}) {
    const std::string message = usage_error_of(words);
    EXPECT_TRUE(contains(message, "--data needs a value, FILE.h5 (")) << message;
    EXPECT_TRUE(contains(message, "--modle is not an option; did you mean --model?")) << message;
    EXPECT_FALSE(contains(message, "was not expected")) << message;
  }
  const OptionTable table{{"input", "A", "", "", ""}, {"output", "B", "", "", ""}};
  const CommandLine line = parse_command_line("pack", table, {"--input", "--output", "x"}, false);
  EXPECT_EQ(line.faults.size(), 1U);
  EXPECT_EQ(line.values.at("output"), "x");
}

TEST(CommandLine, AnEmptyOptionIsOneFault) {
  const std::string message = usage_error_of({"--data", ""});
  EXPECT_TRUE(contains(message, "--data is empty; leave it out")) << message;
  EXPECT_FALSE(contains(message, "--data is missing")) << message;
}

TEST(CommandLine, AnEmptyOptionIsAFaultOfEachCommandAndItsDefaultIsRead) {
  const OptionTable table{{"time", "S", "60", "", ""}, {"hosts", "A", "", "", ""}};
  const Variable hosts("TANDEM_HOSTS", "");
  Options options = resolve(table, parse_command_line("emit", table, {"--time", ""}, false));
  EXPECT_EQ(options.count("time", 1, 100), 60U);
  EXPECT_EQ(texts_of(options.faults()),
            (std::vector<std::string>{"--time is empty; leave it out, or give a value",
                                      "--hosts is empty; leave it out, or give a value (from the "
                                      "environment: TANDEM_HOSTS)"}));
}

TEST(CommandLine, TakesNoWordsAfterTwoDashesUnlessTheyAreFiles) {
  const OptionTable table{{"lr", "LR", "", "", ""}};
  const CommandLine line = parse_command_line("train", table, {"--", "--lr"}, false);
  EXPECT_EQ(
      texts_of(line.faults),
      std::vector<std::string>{"'--lr' was not expected; the command takes no word after --"});
  EXPECT_EQ(parse_command_line("predict", table, {"--", "--lr"}, true).positional,
            std::vector<std::string>{"--lr"});
  // Options of `train` after the -- of another command, which prints its own help.
  EXPECT_EQ(parse_command_line("train", table, {"--help"}, false).faults.front().text,
            "--help is not an option after the word --; give it before");
}

TEST(CommandLine, AMisspelledRequiredOptionIsOneFault) {
  const std::vector<std::pair<Arguments, const char*>> faults{
      {{"--dta", "x.h5"}, "--dta is not an option; did you mean --data?"},
      {{"--data-dir", "x"}, "--data-dir is not an option: tandem pack makes one file"},
      {{"-data", "x.h5"}, "'-data' was not expected; did you mean --data?"},
      {{"-data=x.h5"}, "'-data=x.h5' was not expected; did you mean --data?"}};
  for (const auto& [words, fault] : faults) {
    const std::string message = usage_error_of(words);
    EXPECT_TRUE(contains(message, fault)) << message;
    EXPECT_EQ(split(message, '\n').size(), 2U) << message;  // the second names --help
  }
  EXPECT_TRUE(contains(usage_error_of({"--epoch", "3"}), "--data is missing"));
}

TEST(CommandLine, SwitchesTakeNoValue) {
  for (const char* word : {"--nesterov=true", "--no-nesterov=1"}) {
    const std::string message = usage_error_of({word, "--lr", "fast"});
    EXPECT_TRUE(contains(message, "nesterov takes no value, found '")) << message;
    EXPECT_TRUE(contains(message, "'; give --nesterov or --no-nesterov\n")) << message;
    EXPECT_TRUE(contains(message, "--lr: 'fast'")) << message;
  }
}

TEST(CommandLine, AnOptionThatMayNotBeRepeatedIsRefused) {
  OptionSpec spec{"input", "PATH", "", "", ""};
  const Arguments words{"--input", "a", "--input=b"};
  EXPECT_TRUE(parse_command_line("pack", {spec}, words, false).faults.empty());
  spec.repetition = Repetition::kRefused;
  const CommandLine line = parse_command_line("pack", {spec}, words, false);
  ASSERT_EQ(line.faults.size(), 1U);
  EXPECT_EQ(line.faults.front().text, "--input is given twice, with a and b; give one of them");
}

TEST(CommandLine, AMissingValueOfAnAliasIsOneFault) {
  OptionSpec spec{"checkpoint", "FILE", "", "", ""};
  spec.aliases = {"weights"};
  const OptionTable table{spec, {"json", "", "false", "", ""}};
  const std::vector<std::string> words{"--weights", "--json"};
  Options options = resolve(table, parse_command_line("eval", table, words, false));
  options.require("checkpoint");
  ASSERT_EQ(options.faults().size(), 1U) << join(texts_of(options.faults()), "; ");
  EXPECT_EQ(options.faults().front().without_value, "checkpoint");
}

TEST(CommandLine, RefusesStrayWords) {
  EXPECT_TRUE(contains(usage_error_of({"--data", "x.h5", "y.h5"}), "'y.h5' was not expected"));
}

TEST(CommandLine, AWordAfterOneDashTooFewIsAValueIfTheOptionTakesOne) {
  EXPECT_TRUE(contains(usage_error_of({"-epochs=3", "stray"}), "'stray' was not expected"));
  EXPECT_TRUE(contains(usage_error_of({"-quiet", "stray"}), "'stray' was not expected"));
  EXPECT_FALSE(contains(usage_error_of({"-epochs", "3"}), "'3' was not expected"));
  const OptionTable table{{"json", "", "false", "", ""}, {"html", "FILE", "", "", ""}};
  for (const char* word : {"-v", "-json", "-html=x"}) {
    const CommandLine line = parse_command_line("inspect", table, {word, "runs/a"}, true);
    EXPECT_EQ(line.positional, Arguments{"runs/a"}) << word;
    EXPECT_EQ(line.faults.size(), 1U) << word;
  }
  const CommandLine line = parse_command_line("inspect", table, {"-html", "x", "runs/a"}, true);
  EXPECT_EQ(line.positional, Arguments{"runs/a"});
}

TEST(CommandLine, AnOptionIsAValueWhereItIsJoined) {
  const OptionTable& table = train_option_table();
  const CommandLine line = parse_command_line("train", table, {"--run-id=--model"}, false);
  EXPECT_EQ(line.values.at("run-id"), "--model");
  EXPECT_TRUE(line.faults.empty());
}

TEST(CommandLine, ALoneDashIsAWord) {
  const OptionTable table{{"json", "", "false", "", ""}};
  const CommandLine line = parse_command_line("predict", table, {"a", "-", "--json", "-x"}, true);
  EXPECT_EQ(line.positional, (std::vector<std::string>{"a", "-"}));
  EXPECT_EQ(line.values.at("json"), "true");
  ASSERT_EQ(line.faults.size(), 1U);
  EXPECT_TRUE(contains(line.faults[0].text, "'-x'"));
  const std::string& fault = line.faults[0].text;
  EXPECT_TRUE(contains(fault, "given as ./-x or after the word --")) << fault;
}

TEST(CommandLine, TwoDashesEndTheOptions) {
  const OptionTable table{{"json", "", "false", "", ""}};
  const std::vector<std::string> words{"--json", "a", "--", "-x.png", "--no_json", "--"};
  const CommandLine line = parse_command_line("predict", table, words, true);
  EXPECT_EQ(line.positional, (std::vector<std::string>{"a", "-x.png", "--no_json", "--"}));
  EXPECT_EQ(line.values.at("json"), "true");
  EXPECT_TRUE(line.faults.empty());
  EXPECT_TRUE(
      contains(usage_error_of({"--data", "x.h5", "--", "y.h5"}), "'y.h5' was not expected"));
}

TEST(TrainOptions, NamesAllFaultsAtOnce) {
  const std::string message = usage_error_of(
      {"--model", "resnet188", "--lr", "fast", "--epochs", "-1", "--augment", "spin"});
  EXPECT_TRUE(contains(message, "--data is missing")) << message;
  EXPECT_TRUE(contains(message, "did you mean resnet18?")) << message;
  EXPECT_TRUE(contains(message, "--lr: 'fast' is not a number")) << message;
  EXPECT_TRUE(contains(message, "--epochs: '-1' is not a number from")) << message;
  EXPECT_TRUE(contains(message, "'spin' is not known")) << message;
}

TEST(TrainOptions, AFaultOfAnOptionThatIsReadTwiceIsNamedOnce) {
  const Variable plan("TANDEM_PLAN", "maybe");
  for (const Arguments& words :
       {Arguments{"--eval-every", "0", "--validation-split", "abc"},
        Arguments{"--eval-every", "0", "--early-stop", "few"}, Arguments{"--seed", "one"}}) {
    Arguments all{"--data", "x.h5"};
    all.insert(all.end(), words.begin(), words.end());
    const std::string message = usage_error_of(all);
    EXPECT_EQ(split(message, '\n').size(), 3U) << message;  // the third names --help
  }
  EXPECT_TRUE(contains(usage_error_of({"--eval-every", "0", "--early-stop", "2"}),
                       "--early-stop and --eval-every 0 exclude each other: nothing would be"));
}

TEST(TrainOptions, NamesAllFaultsOfAList) {
  const std::string message = usage_error_of(
      {"--model", "mlp", "--hidden", "0,5,-3,a", "--checkpoint-every", "5x,0,3days"});
  for (const char* fault :
       {"--hidden: '0' is", "--hidden: '-3' is", "--hidden: 'a' is", "--checkpoint-every: '5x' is",
        "--checkpoint-every: '3days' is", "--checkpoint-every: '5x,0,3days' has a 0 beside"}) {
    EXPECT_TRUE(contains(message, fault)) << message;
  }
}

TEST(TrainOptions, TheStemIsOfResidualNetworks) {
  EXPECT_EQ(request_of({"--model", "resnet50", "--stem", "imagenet"}).config.stem,
            model::Stem::kImagenet);
  EXPECT_EQ(request_of({"--model", "resnet50"}).config.stem, model::Stem::kCifar);
  EXPECT_TRUE(contains(usage_error_of({"--model", "lenet", "--stem", "imagenet"}),
                       "--stem imagenet is for resnet18, resnet34 and resnet50"));
  EXPECT_TRUE(contains(usage_error_of({"--model", "resnet18", "--stem", "image"}),
                       "'image' is not one of cifar, imagenet"));
  const TempDir folder;
  write_file_atomically(folder / "r.conf", "model = resnet50\nstem = imagenet\n");
  EXPECT_EQ(request_of({"--recipe", folder / "r.conf"}).config.stem, model::Stem::kImagenet);
  EXPECT_EQ(request_of({"--recipe", folder / "r.conf", "--model", "lenet"}).config.stem,
            model::Stem::kCifar);
}

TEST(TrainOptions, FreezeAndScaleLayersByPatterns) {
  const train::TrainConfig config =
      request_of({"--freeze", "conv1.*,layer1.*", "--lr-scale", "*=0.1,fc.*=2"}).config;
  EXPECT_EQ(config.frozen, (std::vector<std::string>{"conv1.*", "layer1.*"}));
  ASSERT_EQ(config.rate_scales.size(), 2U);
  EXPECT_EQ(config.rate_scales[1].pattern, "fc.*");
  EXPECT_EQ(config.rate_scales[1].factor, 2);
  EXPECT_TRUE(request_of({}).config.frozen.empty());
  for (const auto& [option, value, part] :
       {std::make_tuple("--freeze", "a,,b", "'a,,b' is not a list of patterns"),
        std::make_tuple("--lr-scale", "fc.*", "'fc.*' is not a pattern and its factor"),
        std::make_tuple("--lr-scale", "fc.*=-1", "'-1' is not a number"),
        std::make_tuple("--lr-scale", "fc.*=", "'' is not a number")}) {
    EXPECT_TRUE(contains(usage_error_of({option, value}), part)) << usage_error_of({option, value});
  }
  EXPECT_TRUE(contains(usage_error_of({"--model", "net.pt", "--freeze", "a"}),
                       "call requires_grad_(False)"));
  EXPECT_TRUE(contains(usage_error_of({"--optimizer", "muon", "--lr-scale", "fc.*=2"}),
                       "--lr-scale and --optimizer muon exclude each other"));
}

TEST(TrainOptions, HiddenWidthsAreOfMlp) {
  const auto widths = [](const std::string& text) {
    return request_of({"--model", "mlp", "--hidden", text}).config.hidden;
  };
  EXPECT_EQ(widths("100"), model::HiddenWidths{100});
  EXPECT_EQ(widths("0100,50"), (model::HiddenWidths{100, 50}));
  EXPECT_EQ(widths("512,512"), model::HiddenWidths{}) << "as if it had not been given";
  for (const char* text : {"0", "100,", "100;50", "65537", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"}) {
    EXPECT_TRUE(contains(usage_error_of({"--model", "mlp", "--hidden", text}), "--hidden: "))
        << text;
  }
  EXPECT_TRUE(contains(usage_error_of({"--model", "resnet9", "--hidden", "100"}),
                       "--hidden is for --model mlp, and --model is resnet9"));
}

TEST(TrainOptions, HiddenWidthsOfARecipeGoWithItsNetwork) {
  const TempDir folder;
  write_file_atomically(folder / "r.conf", "model = mlp\nhidden = 100\n");
  EXPECT_EQ(request_of({"--recipe", folder / "r.conf"}).config.hidden, model::HiddenWidths{100});
  EXPECT_TRUE(
      request_of({"--recipe", folder / "r.conf", "--model", "lenet"}).config.hidden.empty());
  Options options = options_of({"--model", "mlp", "--hidden", "0100"});
  read_train_options(options);
  EXPECT_TRUE(contains(to_ini(options), "\nhidden = 100\n"));
  Options same = options_of({"--model", "mlp", "--hidden", "512,512"});
  read_train_options(same);
  EXPECT_FALSE(contains(to_ini(same), "hidden"));
}

TEST(TrainOptions, SayWhereRanksCompute) {
  const DeviceOptions unset = request_of({}).device;
  EXPECT_EQ(unset.request.device, device::DeviceKind::kAuto);
  EXPECT_EQ(unset.request.backend, device::Backend::kAuto);
  EXPECT_TRUE(unset.request.gpu_ids.empty());
  EXPECT_FALSE(unset.request.share_gpu);
  EXPECT_EQ(unset.init_timeout_seconds, 60);
  const DeviceOptions set =
      request_of({"--device=cuda", "--gpu-ids=1,6,3", "--backend=nccl", "--init-timeout=2.5"})
          .device;
  EXPECT_EQ(set.request.device, device::DeviceKind::kCuda);
  EXPECT_EQ(set.request.backend, device::Backend::kNccl);
  EXPECT_EQ(set.request.gpu_ids, (std::vector<int>{1, 6, 3}));
  EXPECT_EQ(set.init_timeout_seconds, 2.5);
  const DeviceOptions shared =
      request_of({"--share-gpu", "--backend=mpi", "--device=cpu", "--no-share-gpu"}).device;
  EXPECT_EQ(shared.request.device, device::DeviceKind::kCpu);
  EXPECT_EQ(shared.request.backend, device::Backend::kMpi);
  EXPECT_FALSE(shared.request.share_gpu);
  const std::string message = usage_error_of({"--device", "cpu", "--gpu-ids", "0,0"});
  EXPECT_TRUE(contains(message, "--gpu-ids 0,0 and --device cpu exclude each other")) << message;
  EXPECT_TRUE(contains(message, "0 is listed twice")) << message;
}

TEST(TrainOptions, RefusesTrailingTextNanAndOverflow) {
  for (const char* text : {"1x", "nan", "inf", "1e400", "0x10", "1,5", " 1"}) {
    EXPECT_TRUE(contains(usage_error_of({"--data", "x", "--lr", text}), "--lr: '")) << text;
  }
  for (const char* text : {"1.5", "-1", "99999999999999999999", "1e3"}) {
    EXPECT_TRUE(contains(usage_error_of({"--data", "x", "--batch-size", text}), "--batch-size: '"))
        << text;
  }
}

TEST(TrainOptions, AnEmptyValueOrABlankIsOneFault) {
  const Variable seed("TANDEM_SEED", "");
  const std::string message = usage_error_of({"--data", "x", "--batch-size", " 64"});
  EXPECT_TRUE(contains(message,
                       "--seed is empty; leave it out, or give a value (from the "
                       "environment: TANDEM_SEED)\n"))
      << message;
  EXPECT_TRUE(contains(message, "--batch-size: ' 64' has a '#', a line break or a blank"));
  EXPECT_EQ(split(message, '\n').size(), 3U) << message;
}

TEST(TrainOptions, TheStrongerOfTheTwoBatchSizesHolds) {
  EXPECT_EQ(
      request_of({"--recipe", TANDEM_RECIPES "/cifar10-simple.conf"}).config.global_batch_size,
      128U);
  const auto overridden =
      request_of({"--recipe", TANDEM_RECIPES "/cifar10-simple.conf", "--batch-size", "16"}).config;
  EXPECT_EQ(overridden.global_batch_size, 0U);
  EXPECT_EQ(overridden.batch_size, 16U);
  EXPECT_TRUE(
      contains(usage_error_of({"--data", "x", "--batch-size", "1", "--global-batch-size", "2"}),
               "give one"));
}

TEST(Resolve, CommandLineBeatsEnvironmentBeatsFileBeatsRecipeBeatsDefault) {
  const TempDir folder;
  write_file_atomically(folder / "r.conf", "lr = 1\nseed = 1\nepochs = 1\nmomentum = 0.1\n");
  write_file_atomically(folder / "c.ini", "lr = 2\nseed = 2\nepochs = 2\n");
  const Variable seed("TANDEM_SEED", "3");
  const Variable epochs("TANDEM_EPOCHS", "3");
  const Options options =
      resolve_train({"--recipe", folder / "r.conf", "--config", folder / "c.ini", "--epochs", "4"});
  const auto expect = [&](const char* name, const char* text, Origin origin) {
    EXPECT_EQ(options.text(name), text) << name;
    EXPECT_EQ(options.value(name).origin, origin) << name;
  };
  expect("epochs", "4", Origin::kCommandLine);
  expect("seed", "3", Origin::kEnvironment);
  expect("lr", "2", Origin::kConfigFile);
  expect("momentum", "0.1", Origin::kRecipe);
  expect("model", "simple", Origin::kDefault);
}

TEST(Resolve, RefusesAFileThatNamesAnother) {
  const TempDir folder;
  write_file_atomically(folder / "r.conf", "recipe = mnist-lenet\n");
  write_file_atomically(folder / "c.ini", "config = other.ini\n");
  EXPECT_TRUE(contains(usage_error_of({"--recipe", folder / "r.conf"}), "give --recipe on the"));
  EXPECT_TRUE(contains(usage_error_of({"--config", folder / "c.ini"}), "give --config on the"));
}

TEST(AllReduce, ByTheMpiLibraryIsRefusedWhereBitsArePromised) {
  EXPECT_EQ(request_of({"--all-reduce", "mpi"}).config.all_reduce,
            comm::AllReduceAlgorithm::kLibrary);
  const auto error = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--data", "x.h5", "--all-reduce", "mpi"});
    return usage_error_of(arguments);
  };
  EXPECT_TRUE(contains(error({"--virtual-ranks", "2", "--global-batch-size", "64"}),
                       "--all-reduce mpi and --virtual-ranks exclude each other: "));
  EXPECT_TRUE(contains(error({"--deterministic"}),
                       "--deterministic and --all-reduce mpi exclude each other: the MPI library "
                       "chooses the order of additions"));
  EXPECT_TRUE(contains(error({"--grad-dtype", "bf16"}),
                       "--all-reduce mpi and --grad-dtype bf16 exclude each other: "));
}

TEST(Repetition, OfAListThatDecidesTheResultJoinsIt) {
  const train::TrainConfig config =
      request_of({"--freeze", "conv1.*", "--freeze", "fc1.*", "--lr", "0.2", "--lr", "0.3"}).config;
  EXPECT_EQ(config.frozen, (std::vector<std::string>{"conv1.*", "fc1.*"}));
  EXPECT_EQ(config.learning_rate, 0.3);
}

std::vector<std::string> unused_of(std::vector<std::string> arguments) {
  return describe_unused(options_of(std::move(arguments)));
}

TEST(MaxTime, TakesAsManySecondsAsHours) {
  EXPECT_EQ(usage_error_of({"--data", "x.h5", "--max-time", "172710"}), "");
  EXPECT_EQ(usage_error_of({"--data", "x.h5", "--max-time", "100000:00:00"}), "");
  EXPECT_EQ(request_of({"--max-time", "1:01:00"}).checkpoint_policy.stop_after_seconds, 3630);
  for (const char* wrong : {"360000001", "6000001:00", "100001:00:00", "1:60:00", "0"}) {
    EXPECT_TRUE(
        contains(usage_error_of({"--data", "x.h5", "--max-time", wrong}), "is not HH:MM:SS"))
        << wrong;
  }
}

TEST(UnusedOptions, AreNamedWithTheValuesThatTheyNeed) {
  EXPECT_EQ(unused_of({"--beta1", "0.9", "--schedule", "cosine", "--polynomial-power", "3"}),
            (std::vector<std::string>{
                "--beta1 has no effect with --optimizer sgd; leave it out, or give --optimizer "
                "adamw or lamb",
                "--polynomial-power has no effect with --schedule cosine; leave it out, or give "
                "--schedule polynomial"}));
  EXPECT_EQ(unused_of({"--optimizer", "lamb", "--momentum", "0.5", "--stop-margin", "5"}),
            (std::vector<std::string>{
                "--stop-margin has no effect without --max-time; leave it out, or give --max-time",
                "--momentum has no effect with --optimizer lamb; leave it out, or give --optimizer "
                "sgd, muon or lars"}));
}

TEST(UnusedOptions, AreOfTheCommandLine) {
  EXPECT_TRUE(unused_of({"--stop-margin", "5", "--max-time", "1:00:00"}).empty());
  EXPECT_TRUE(unused_of({"--optimizer", "lamb", "--beta1", "0.9", "--no-nesterov"}).empty());
  EXPECT_TRUE(unused_of({"--recipe", "cifar10-fast", "--head-lr", "0.5"}).empty());
  EXPECT_TRUE(unused_of({"--recipe", "cifar10-fast", "--optimizer", "sgd"}).empty());
}

TEST(UnusedOptions, OfPictureFilesAreThoseOfTheCommandLine) {
  const Variable lanes("TANDEM_READ_LANES", "3");
  EXPECT_EQ(describe_unused_by_pixels(options_of({"--stage", "d", "--batch-size", "8"})),
            std::vector<std::string>{"--stage has no effect on x.h5, which has pixels of one size; "
                                     "leave it out, or pack with --store encoded"});
}

TEST(ShareWeights, IsForRanksOnCpus) {
  EXPECT_FALSE(request_of({}).config.share_weights);
  EXPECT_TRUE(request_of({"--share-weights"}).config.share_weights);
  EXPECT_TRUE(contains(usage_error_of({"--data", "x.h5", "--share-weights", "--device", "cuda"}),
                       "--share-weights computes on CPUs; leave it out, or --device cuda"));
  using Words = std::vector<std::string>;
  for (const Words& words :
       {Words{"--optimizer", "lars"}, Words{"--ema", "0.9"}, Words{"--lr-scale", "fc.*=2"}}) {
    Words all{"--data", "x.h5", "--share-weights"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_TRUE(contains(usage_error_of(all), "--share-weights and " + words.front())) << words[1];
  }
}

TEST(GradientCheckpointing, IsForNetworksOfBlocks) {
  const std::vector<std::string> words{"--model", "vit-tiny", "--gradient-checkpointing"};
  EXPECT_TRUE(request_of(words).config.gradient_checkpointing);
  EXPECT_TRUE(contains(usage_error_of({"--data", "x.h5", "--gradient-checkpointing"}),
                       "is for resnet18, resnet34, resnet50, vit-tiny, vit-small, and --model is "
                       "simple; leave it out"));
}

TEST(SyncBn, IsForNetworksWithBatchNormOnCpus) {
  EXPECT_TRUE(request_of({"--model", "resnet9", "--sync-bn"}).config.sync_bn);
  EXPECT_TRUE(
      contains(usage_error_of({"--data", "x.h5", "--sync-bn"}), "--model is simple, leave it out"));
  EXPECT_TRUE(contains(
      usage_error_of({"--data", "x.h5", "--model", "resnet9", "--sync-bn", "--device", "cuda"}),
      "--sync-bn computes on CPUs"));
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{"--virtual-ranks", "4"}, Words{"--gradient-checkpointing"},
                             Words{"--bucket-mb", "2"}, Words{"--bucket-mb", "auto"}}) {
    Words all{"--data", "x.h5", "--model", "resnet18", "--sync-bn"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_TRUE(contains(usage_error_of(all), "--sync-bn and " + words.front())) << words.front();
  }
}

TEST(Aliases, AreAcceptedOnTheCommandLine) {
  for (const char* name : {"--all-reduce", "--sum-algorithm", "--sum_algorithm"}) {
    Options options = options_of({name, "two-level"});
    EXPECT_EQ(options.value("all-reduce").origin, Origin::kCommandLine) << name;
    EXPECT_EQ(read_train_options(options).config.all_reduce, comm::AllReduceAlgorithm::kTwoLevel);
  }
  EXPECT_TRUE(contains(usage_error_of({"--data", "x.h5", "--sum-algorithm"}),
                       "--sum-algorithm needs a value, NAME"));
}

TEST(Aliases, OfCometsExampleIsUnderstood) {
  const Options options = options_of({"--replica_batch_size", "32"});
  EXPECT_EQ(options.text("batch-size"), "32");
  EXPECT_TRUE(contains(to_ini(options), "\nbatch-size = 32\n"));
}

TEST(Aliases, AreAcceptedInTheEnvironment) {
  const Variable old("TANDEM_SUM_ALGORITHM", "two-level");
  EXPECT_EQ(options_of({}).text("all-reduce"), "two-level");
  EXPECT_EQ(options_of({}).value("all-reduce").origin, Origin::kEnvironment);
  EXPECT_EQ(options_of({"--all-reduce", "flat"}).text("all-reduce"), "flat");
}

TEST(Aliases, AFaultNamesTheVariableThatIsSet) {
  const Variable old("TANDEM_SUM_ALGORITHM", "tree");
  EXPECT_TRUE(contains(usage_error_of({"--data", "x.h5"}),
                       "--all-reduce: 'tree' is not one of flat, two-level, mpi (from the "
                       "environment: TANDEM_SUM_ALGORITHM)"));
}

TEST(Aliases, AreAcceptedInFilesAndRecipesAndNotWritten) {
  const TempDir folder;
  write_file_atomically(folder / "old.conf", "sum-algorithm = two-level\n");
  for (const char* option : {"--config", "--recipe"}) {
    const Options options = options_of({option, folder / "old.conf"});
    EXPECT_EQ(options.text("all-reduce"), "two-level") << option;
    EXPECT_TRUE(contains(to_ini(options), "\nall-reduce = two-level\n"));
    EXPECT_FALSE(contains(to_ini(options), "sum-algorithm"));
  }
}

TEST(Aliases, TwoNamesOfOneOptionAreAFault) {
  EXPECT_TRUE(contains(
      usage_error_of({"--data", "x.h5", "--sum-algorithm", "flat", "--all-reduce", "flat"}),
      "--sum-algorithm and --all-reduce are the same option; give only --all-reduce"));
  const TempDir folder;
  write_file_atomically(folder / "c.ini", "all-reduce = flat\nsum-algorithm = flat\n");
  EXPECT_TRUE(
      contains(usage_error_of({"--data", "x.h5", "--config", folder / "c.ini"}),
               "c.ini: all-reduce and sum-algorithm are the same option; give only all-reduce"));
  const Variable old("TANDEM_SUM_ALGORITHM", "flat");
  const Variable current("TANDEM_ALL_REDUCE", "flat");
  EXPECT_TRUE(contains(usage_error_of({"--data", "x.h5"}),
                       "TANDEM_ALL_REDUCE and TANDEM_SUM_ALGORITHM are the same option; give only "
                       "TANDEM_ALL_REDUCE"));
}

TEST(Aliases, ASwitchHasANoFormOfEach) {
  OptionSpec spec{"quiet", "", "false", "", ""};
  spec.aliases = {"silent"};
  const auto value_of = [&](const char* word) {
    return parse_command_line("train", {spec}, {word}, false).values.at("quiet");
  };
  EXPECT_EQ(value_of("--silent"), "true");
  EXPECT_EQ(value_of("--no-silent"), "false");
  EXPECT_EQ(value_of("--no-quiet"), "false");
}

TEST(ConfigFile, RefusesUnknownNamesWithTheNearest) {
  const TempDir folder;
  write_file_atomically(folder / "c.ini", "epoch = 3\n");
  EXPECT_TRUE(contains(usage_error_of({"--config", folder / "c.ini"}), "did you mean --epochs?"));
}

TEST(ConfigFile, RefusesSections) {
  const TempDir folder;
  write_file_atomically(folder / "c.ini", "# sections\n \t[train]\nepoch = 3\n[more]\nlr = fast\n");
  const std::string message = usage_error_of({"--config", folder / "c.ini"});
  EXPECT_TRUE(contains(message, "line 2 begins a section")) << message;
  EXPECT_TRUE(contains(message, "did you mean --epochs?")) << message;
  EXPECT_TRUE(contains(message, "--lr: 'fast'")) << message;
}

TEST(ConfigFile, NamesTheFirstLineWithoutAnEqualSignAndReadsTheOthers) {
  const TempDir folder;
  write_file_atomically(folder / "c.ini", "seed=2 # two\r\n\nepochs: 3\nmodel: mlp\n lr = fast");
  const std::string message = usage_error_of({"--data", "x", "--config", folder / "c.ini"});
  EXPECT_TRUE(contains(message, "c.ini: line 3 has no equal sign; lines of the form")) << message;
  EXPECT_TRUE(contains(message, "--lr: 'fast'")) << message;
  EXPECT_EQ(split(message, '\n').size(), 3U) << message;  // the third names --help
}

TEST(ConfigFile, MayBeginWithAByteOrderMark) {
  const TempDir folder;
  write_file_atomically(folder / "c.ini", "\xEF\xBB\xBFseed = 2\n");
  EXPECT_EQ(options_of({"--data", "x", "--config", folder / "c.ini"}).text("seed"), "2");
}

TEST(ToIni, RepeatsTheRun) {
  const TempDir folder;
  Options options = options_of(
      {"--recipe", TANDEM_RECIPES "/cifar10-simple.conf", "--seed", "9", "--run-id", "one"});
  write_file_atomically(folder / "config.ini", to_ini(options));
  Options repeated = resolve_train({"--config", folder / "config.ini"});
  EXPECT_EQ(to_ini(repeated), to_ini(options));
  EXPECT_EQ(repeated.text("seed"), "9");
  EXPECT_EQ(repeated.text("run-id"), "");
  EXPECT_EQ(read_train_options(repeated).config.global_batch_size, 128U);
}

TEST(Recipes, AllAreReadable) {
  for (const char* name : {"mnist-lenet", "cifar10-simple", "cifar10-fast", "cifar10-large-batch",
                           "cifar10-resnet18", "imagenet-resnet50", "pictures-finetune"}) {
    EXPECT_NO_THROW(request_of({"--recipe", std::string(TANDEM_RECIPES "/") + name + ".conf"}))
        << name;
  }
}

TEST(Recipes, AnUnknownOneHidesNoOtherFault) {
  const std::string faults = usage_error_of(
      {"--data", "x.h5", "--recipe", "no-such-recipe", "--lr", "fast", "--sede", "1"});
  EXPECT_TRUE(contains(faults, "--recipe: 'no-such-recipe' is n")) << faults;
  EXPECT_TRUE(contains(faults, "--lr: 'fast'")) << faults;
  EXPECT_TRUE(contains(faults, "did you mean --seed?")) << faults;
}

TEST(Environment, AVariableThatIsNearlyOneOfAnOptionIsNamed) {
  const std::vector<std::string> names{"batch-size", "epochs", "lr", "name"};
  const Variable wrong("TANDEM_BATCHSIZE", "3");
  const Variable right("TANDEM_EPOCHS", "3");
  const Variable other("TANDEM_SOMETHING_ELSE", "3");
  const Variable short_one("TANDEM_HOME", "/opt/tandem");
  const std::vector<std::string> warnings = mistyped_variables(names);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings.front(),
            "environment: TANDEM_BATCHSIZE belongs to no option; did you mean "
            "TANDEM_BATCH_SIZE?");
}

TEST(HelpText, BeginsWithTheOptionsThatAreNeeded) {
  const OptionTable table{{"a", "N", "1", "first", "g"}, {"b", "", "false", "second", "g"}};
  EXPECT_EQ(help_text("tandem x", "purpose", table, "example", {"b"}),
            "usage: tandem x\n\npurpose\n\nthe 1 option you need:\n"
            "  --[no-]b                    second [off]\n\nall options, each in its group:\n\n"
            "g:\n  --a N                       first [1]\n"
            "  --[no-]b                    second [off]\n\nexample:\n  example");
}

TEST(HelpText, FitsItsColumns) {
  const std::string help =
      help_text("tandem train", "purpose", train_option_table(), "example", {"data", "recipe"});
  std::size_t start = 0;
  while (start < help.size()) {
    const std::size_t end = std::min(help.find('\n', start), help.size());
    EXPECT_LE(end - start, 100U) << help.substr(start, end - start);
    start = end + 1;
  }
  for (const OptionSpec& spec : train_option_table()) EXPECT_TRUE(contains(help, spec.name));
}

}  // namespace
}  // namespace tandem::app
