// The traits of an option: what it means for a resume, for TensorBoard and for config.ini. Every
// row of the table of `tandem train` names them. A unit test refuses a row without traits.
#pragma once

#include <string>

namespace tandem::app {

// The rule for a resumed run.
enum class OnResume {
  kUnclassified,
  kFixed,             // must equal the value of the run's first start
  kFixedForPictures,  // likewise if the set holds picture files; no effect on a set of pixels
  kComparedByEffect,  // the data set's digest or the global batch must be equal, not the value
  kFree,
};
// Whether TensorBoard lists the option as a hyper-parameter.
enum class HyperParameter { kUnclassified, kListed, kLeftOut };
// Whether the run's config.ini holds the option.
enum class ConfigFile { kUnclassified, kWritten, kLeftOut };

struct OptionTraits {
  OnResume on_resume = OnResume::kUnclassified;
  HyperParameter hyper_parameter = HyperParameter::kUnclassified;
  ConfigFile config_file = ConfigFile::kUnclassified;

  bool are_complete() const {
    return on_resume != OnResume::kUnclassified &&
           hyper_parameter != HyperParameter::kUnclassified &&
           config_file != ConfigFile::kUnclassified;
  }
};

// Decides the result of training.
inline constexpr OptionTraits kOfResult{OnResume::kFixed, HyperParameter::kListed,
                                        ConfigFile::kWritten};
// Decides how picture files are read and decoded, and so the result of training on them.
inline constexpr OptionTraits kOfPictures{OnResume::kFixedForPictures, HyperParameter::kListed,
                                          ConfigFile::kWritten};
// Decides what a run reads. TensorBoard lists the effect instead.
inline constexpr OptionTraits kOfInput{OnResume::kComparedByEffect, HyperParameter::kLeftOut,
                                       ConfigFile::kWritten};
// Decides how the result is computed, and how long training goes on.
inline constexpr OptionTraits kOfExecution{OnResume::kFree, HyperParameter::kListed,
                                           ConfigFile::kWritten};
// Suits the ranks and GPUs of a job.
inline constexpr OptionTraits kOfPlacement{OnResume::kFree, HyperParameter::kLeftOut,
                                           ConfigFile::kWritten};
// Decides what a run reports and saves.
inline constexpr OptionTraits kOfOutput{OnResume::kFree, HyperParameter::kLeftOut,
                                        ConfigFile::kWritten};
// Belongs to one start of a run.
inline constexpr OptionTraits kOfThisStart{OnResume::kFree, HyperParameter::kLeftOut,
                                           ConfigFile::kLeftOut};

// A value that may give other bits each time or after a restart. --deterministic refuses it.
struct OtherBits {
  std::string value;   // empty: no value does
  std::string reason;  // follows "exclude each other: "
};

}  // namespace tandem::app
