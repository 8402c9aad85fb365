#include <algorithm>

#include "chart.hpp"
#include "evaluation.hpp"
#include "sections.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::report {
namespace {

constexpr std::size_t kMaxTableClasses = 32;  // classes; of more the pairs that are mixed up most
constexpr std::size_t kMaxCells = 2400;       // of all runs of a page
constexpr std::size_t kMaxPairs = 40;
constexpr std::size_t kMaxImages = 24;
constexpr std::size_t kImageBytes = 300'000;  // of all runs of a page

std::string count_text(std::int64_t count) { return format_count(count); }

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) sum += count;
  return sum;
}

std::string share_text(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return kDash;
  return format_fixed(100 * static_cast<double>(part) / static_cast<double>(whole), 1) + " %";
}

// The darker, the larger its share of the row; by opacity, which is seen on light and dark.
Html shaded(std::int64_t count, std::int64_t of_row, bool is_right) {
  const double share = of_row > 0 ? static_cast<double>(count) / static_cast<double>(of_row) : 0;
  const std::string color = is_right ? "0 158 115" : "213 94 0";
  return element("span",
                 {{"class", "shade"},
                  {"style", "background:rgb(" + color + "/" + format_fixed(70 * share, 0) + "%)"}},
                 Html(count_text(count)));
}

Html whole_table(const Answers& answers) {
  std::vector<Html> head{Html("is ↓, called →")};
  for (const std::string& name : answers.classes) head.push_back(Html(shortened(name, 40)));
  head.push_back(Html("right"));
  std::vector<std::vector<Html>> rows{head};
  for (std::size_t label = 0; label < answers.classes.size(); ++label) {
    const auto& counts = answers.confusion[label];
    const std::int64_t images = sum_of(counts);
    std::vector<Html> row{Html(shortened(answers.classes[label], 40))};
    for (std::size_t answer = 0; answer < counts.size(); ++answer) {
      row.push_back(shaded(counts[answer], images, label == answer));
    }
    row.push_back(Html(share_text(counts[label], images)));
    rows.push_back(row);
  }
  return table(rows, "confusion");
}

Html worst_pairs(const Answers& answers) {
  struct Pair {
    std::size_t label, answer;
    std::int64_t count;
  };
  std::vector<Pair> pairs;
  for (std::size_t label = 0; label < answers.classes.size(); ++label) {
    for (std::size_t answer = 0; answer < answers.classes.size(); ++answer) {
      const std::int64_t count = answers.confusion[label][answer];
      if (label != answer && count > 0) pairs.push_back({label, answer, count});
    }
  }
  const auto more = [](const Pair& one, const Pair& other) { return one.count > other.count; };
  std::stable_sort(pairs.begin(), pairs.end(), more);
  pairs.resize(std::min(pairs.size(), kMaxPairs));
  std::vector<std::vector<Html>> rows{
      {Html("is"), Html("called"), Html("images"), Html("of its class")}};
  for (const Pair& pair : pairs) {
    rows.push_back({Html(shortened(answers.classes[pair.label], 60)),
                    Html(shortened(answers.classes[pair.answer], 60)), Html(count_text(pair.count)),
                    Html(share_text(pair.count, sum_of(answers.confusion[pair.label])))});
  }
  return element("p", Html("The classes that are mixed up most, of " +
                           std::to_string(answers.classes.size()) + ".")) +
         table(rows);
}

data::ImageShape shape_of(const Answers& answers) {
  return {static_cast<int>(answers.channels), static_cast<int>(answers.height),
          static_cast<int>(answers.width)};
}

Html draw_image(const WorstImage& image, const Answers& answers) {
  const std::string is = shortened(answers.classes[image.label], 40);
  const std::string called = shortened(answers.classes[image.predicted], 40);
  const std::string png = data::encode_png(
      shape_of(answers),
      {reinterpret_cast<const std::uint8_t*>(image.pixels.data()), image.pixels.size()});
  const std::string words =
      "image " + std::to_string(image.index) + ", loss " + format_value(image.loss, Unit::kNumber);
  return element("figure", element("img", {{"src", "data:image/png;base64," + to_base64(png)},
                                           {"width", "96"},
                                           {"height", "96"},
                                           {"alt", is + ", called " + called}}) +
                               element("figcaption", Html(is) + Html(" → ") + Html(called) +
                                                         element("br", Attributes{}) +
                                                         element("small", Html(words))));
}

bool has_room_for_table(const Answers& answers, std::size_t runs) {
  const std::size_t classes = answers.classes.size();
  return classes <= kMaxTableClasses && classes * classes * runs <= kMaxCells;
}

Html worst_images(const Answers& answers, std::size_t runs) {
  const bool is_visible = data::has_png_form(shape_of(answers));
  std::size_t bytes = 0;
  Html images;
  for (const WorstImage& image : answers.worst) {
    bytes += image.pixels.size();
    if (!is_visible || image.pixels.empty() || bytes > kImageBytes / runs) break;
    if (&image - answers.worst.data() == static_cast<std::ptrdiff_t>(kMaxImages)) break;
    images += draw_image(image, answers);
  }
  if (images.empty()) return {};
  return element("h3", Html("Test images with the highest loss")) +
         element("div", {{"class", "images"}}, images);
}

}  // namespace

Html answers_section(const RunView& run, std::size_t runs) {
  if (run.record.evaluation.is_null()) return {};
  try {
    const Answers answers = read_answers(run.record.evaluation);
    Html words = Html("Of the test images, after step ") + value_cell(answers.step, Unit::kNumber);
    return section("Answers", element("p", words + Html(".")) +
                                  (has_room_for_table(answers, runs) ? whole_table(answers)
                                                                     : worst_pairs(answers)) +
                                  worst_images(answers, runs));
  } catch (const DataError& error) {
    return section("Answers", element("p", paragraph_text(error.what())));
  }
}

}  // namespace tandem::report
