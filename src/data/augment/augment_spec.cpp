// The words of --augment.
#include <algorithm>
#include <array>
#include <cctype>

#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/augment.hpp"

namespace tandem::data {
namespace {

constexpr int kStandardShift = 4;
constexpr int kMaxShift = 16;
constexpr int kMaxOperations = 16;
constexpr double kMaxJitter = 10;
constexpr double kMaxHue = 0.5;
constexpr double kLeastAlpha = 0.001;
constexpr double kMaxAlpha = 100;
constexpr double kLeastShare = 0.001;

// A word and the numbers behind its '='.
struct Term {
  std::string word;
  std::vector<std::string> numbers;

  std::string where() const { return "--augment " + word; }
  int whole(std::size_t index, int lowest, int highest) const {
    return static_cast<int>(parse_integer(numbers.at(index), lowest, highest, where()));
  }
  double real(std::size_t index, double lowest, double highest) const {
    return parse_real(numbers.at(index), lowest, highest, where());
  }
  double real_or(std::size_t index, double lowest, double highest, double otherwise) const {
    return index < numbers.size() ? real(index, lowest, highest) : otherwise;
  }
};

struct Word {
  const char* name;
  std::size_t least_numbers;
  std::size_t most_numbers;
  const char* kind;  // words of one kind exclude each other
  void (*read)(const Term& term, AugmentSpec& spec);
};

void read_shift(const Term& term, AugmentSpec& spec) {
  spec.most_shift = term.whole(0, 1, kMaxShift);
  spec.border = term.word == "crop" ? Border::kBlack : Border::kReflected;
}

void read_resized_crop(const Term& term, AugmentSpec& spec) {
  ResizedCrop crop;
  crop.least_area = term.real_or(0, kLeastShare, 1, crop.least_area);
  crop.least_ratio = term.real_or(1, kLeastShare, 1, crop.least_ratio);
  spec.resized_crop = crop;
}

void read_color_jitter(const Term& term, AugmentSpec& spec) {
  ColorJitter jitter;
  jitter.brightness = term.real_or(0, 0, kMaxJitter, 0);
  jitter.contrast = term.real_or(1, 0, kMaxJitter, 0);
  jitter.saturation = term.real_or(2, 0, kMaxJitter, 0);
  jitter.hue = term.real_or(3, 0, kMaxHue, 0);
  spec.color_jitter = jitter;
}

void read_rand_augment(const Term& term, AugmentSpec& spec) {
  RandAugment policy;
  if (!term.numbers.empty()) policy.operations = term.whole(0, 1, kMaxOperations);
  if (term.numbers.size() > 1) policy.magnitude = term.whole(1, 0, kMaxMagnitude);
  spec.rand_augment = policy;
}

const std::array<Word, 11> kWords = {{
    {"crop", 1, 1, "crop", read_shift},
    {"reflect", 1, 1, "crop", read_shift},
    {"resized-crop", 0, 2, "crop", read_resized_crop},
    {"flip", 0, 0, "flip", [](const Term&, AugmentSpec& spec) { spec.flip = Flip::kRandom; }},
    {"alternate-flip", 0, 0, "flip",
     [](const Term&, AugmentSpec& spec) { spec.flip = Flip::kAlternate; }},
    {"color-jitter", 1, 4, "color-jitter", read_color_jitter},
    {"rand-augment", 0, 2, "policy", read_rand_augment},
    {"trivial-augment", 0, 0, "policy",
     [](const Term&, AugmentSpec& spec) { spec.trivial_augment = true; }},
    {"random-erasing", 0, 1, "random-erasing",
     [](const Term& term, AugmentSpec& spec) {
       spec.erasing = term.real_or(0, kLeastShare, 1, 0.5);
     }},
    {"mixup", 0, 1, "mixup",
     [](const Term& term, AugmentSpec& spec) {
       spec.mixup = term.real_or(0, kLeastAlpha, kMaxAlpha, 1);
     }},
    {"cutmix", 0, 1, "cutmix",
     [](const Term& term, AugmentSpec& spec) {
       spec.cutmix = term.real_or(0, kLeastAlpha, kMaxAlpha, 1);
     }},
}};

[[noreturn]] void refuse_unknown(const Term& term) {
  std::vector<std::string> known{"standard"};
  for (const Word& word : kWords) known.emplace_back(word.name);
  const auto suggestion = nearest(term.word, known);
  throw UsageError("--augment: '" + term.word +
                   (term.numbers.empty() ? "" : "=" + join(term.numbers, ",")) +
                   "' is not known; use none, standard, or a list of crop=N, reflect=N or "
                   "resized-crop, flip or alternate-flip, color-jitter=X, rand-augment or "
                   "trivial-augment, random-erasing, mixup and cutmix, such as crop=4,flip" +
                   (suggestion ? "; did you mean " + *suggestion + "?" : ""));
}

// A part that begins with a digit is one more number of the word before it.
std::vector<Term> terms_of(const std::string& text) {
  std::vector<Term> terms;
  for (const std::string& part : split(text, ',')) {
    const bool is_number = !part.empty() && (std::isdigit(static_cast<unsigned char>(part[0])) ||
                                             part[0] == '.' || part[0] == '-');
    if (is_number && !terms.empty() && !terms.back().numbers.empty()) {
      terms.back().numbers.push_back(part);
      continue;
    }
    if (part == "standard") {
      terms.push_back({"crop", {std::to_string(kStandardShift)}});
      terms.push_back({"flip", {}});
      continue;
    }
    const std::size_t sign = part.find('=');
    terms.push_back({part.substr(0, sign), {}});
    if (sign != std::string::npos) terms.back().numbers.push_back(part.substr(sign + 1));
  }
  return terms;
}

const Word& word_of(const Term& term) {
  const auto* const found = std::find_if(
      kWords.begin(), kWords.end(), [&term](const Word& word) { return term.word == word.name; });
  if (found == kWords.end()) refuse_unknown(term);
  const std::size_t count = term.numbers.size();
  if (count < found->least_numbers || count > found->most_numbers) {
    const std::string least = std::to_string(found->least_numbers);
    const std::string most = std::to_string(found->most_numbers);
    const std::string wanted = found->most_numbers == 0 ? "none"
                               : least == most          ? least
                                                        : least + " to " + most;
    throw UsageError("--augment: " + term.word + " has " + format_quantity(count, "number") + ", " +
                     wanted + " expected");
  }
  return *found;
}

}  // namespace

void AugmentSpec::require_shape(ImageShape shape) const {
  if (!changes_pixels() || shape.channels == 1 || shape.channels == 3) return;
  throw UsageError(
      "--augment: color-jitter, rand-augment and trivial-augment are for images of 1 or 3 "
      "channels, these are " +
      shape.text() + "; leave them out");
}

AugmentSpec AugmentSpec::parse(const std::string& text) {
  AugmentSpec spec;
  if (text == "none") return spec;
  std::vector<const Word*> earlier;
  for (const Term& term : terms_of(text)) {
    const Word& word = word_of(term);
    for (const Word* other : earlier) {
      if (std::string(other->kind) != word.kind) continue;
      const bool is_same = other == &word;
      throw UsageError(
          "--augment: " +
          (is_same ? term.word + " is given twice"
                   : std::string(other->name) + " and " + word.name + " exclude each other") +
          "; leave one of them out");
    }
    word.read(term, spec);
    earlier.push_back(&word);
  }
  return spec;
}

}  // namespace tandem::data
