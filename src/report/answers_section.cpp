#include <algorithm>
#include <cmath>

#include "chart.hpp"
#include "evaluation.hpp"
#include "sections.hpp"
#include "tandem/core/digest.hpp"
#include "tandem/core/error.hpp"
#include "tandem/core/text.hpp"
#include "tandem/data/image_file.hpp"

namespace tandem::report {
namespace {

constexpr std::size_t kMaxTableClasses = 32;  // no table for more classes
constexpr std::size_t kMaxCells = 2400;       // of all runs of a page
// Rows of a list, and of a list that replaces the table.
constexpr std::size_t kRows = 10;
constexpr std::size_t kManyRows = 40;
constexpr char kRight[] = "0 158 115";
constexpr char kWrong[] = "213 94 0";
constexpr std::size_t kMaxImages = 24;
constexpr std::size_t kImageBytes = 300'000;  // of all runs of a page

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
  return element("span",
                 {{"class", "shade"},
                  {"style", "background:rgb(" + std::string(is_right ? kRight : kWrong) + "/" +
                                format_fixed(70 * share, 0) + "%)"}},
                 Html(format_count(count)));
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

// A bar behind a text.
Html barred(double share, const char* color, const std::string& text) {
  const std::string end = format_fixed(100 * share, 1) + "%";
  return element("span",
                 {{"class", "shade"},
                  {"style", "background:linear-gradient(90deg,rgb(" + std::string(color) +
                                "/45%) " + end + ",transparent " + end + ")"}},
                 Html(text));
}

// The most frequent wrong answers first.
Html most_frequent_mistakes(const Answers& answers, std::size_t most) {
  struct Pair {
    std::size_t label, answer;
    std::int64_t count;
  };
  std::vector<Pair> pairs;
  for (std::size_t label = 0; label < answers.confusion.size(); ++label) {
    for (std::size_t answer = 0; answer < answers.classes.size(); ++answer) {
      const std::int64_t count = answers.confusion[label][answer];
      if (label != answer && count > 0) pairs.push_back({label, answer, count});
    }
  }
  if (pairs.empty()) return {};
  const auto more = [](const Pair& one, const Pair& other) { return one.count > other.count; };
  std::stable_sort(pairs.begin(), pairs.end(), more);
  const std::size_t left_out = pairs.size() - std::min(pairs.size(), most);
  pairs.resize(pairs.size() - left_out);
  std::vector<std::vector<Html>> rows{{Html("is → called"), Html("images"), Html("of its class")}};
  for (const Pair& pair : pairs) {
    const double longest = static_cast<double>(pairs.front().count);
    rows.push_back(
        {Html(shortened(answers.classes[pair.label], 60) + " → " +
              shortened(answers.classes[pair.answer], 60)),
         barred(static_cast<double>(pair.count) / longest, kWrong, format_count(pair.count)),
         Html(share_text(pair.count, sum_of(answers.confusion[pair.label])))});
  }
  const Html others =
      left_out == 0
          ? Html()
          : element("p", element("small",
                                 Html("not shown: " + format_quantity(left_out, "rarer mistake"))));
  return element("div",
                 element("h3", Html("Most frequent mistakes")) + table(rows, "shares") + others);
}

// The classes with the fewest right answers first.
Html accuracy_by_class(const Answers& answers, std::size_t most) {
  if (answers.confusion.empty()) return {};
  std::vector<std::pair<double, std::size_t>> classes;
  for (std::size_t label = 0; label < answers.confusion.size(); ++label) {
    const std::int64_t images = sum_of(answers.confusion[label]);
    if (images == 0) continue;
    classes.emplace_back(
        static_cast<double>(answers.confusion[label][label]) / static_cast<double>(images), label);
  }
  std::sort(classes.begin(), classes.end());
  classes.resize(std::min(classes.size(), most));
  std::vector<std::vector<Html>> rows{{Html("class"), Html("right"), Html("images")}};
  for (const auto& [share, label] : classes) {
    rows.push_back({Html(shortened(answers.classes[label], 60)),
                    barred(share, kRight, format_fixed(100 * share, 1) + " %"),
                    Html(format_count(sum_of(answers.confusion[label])))});
  }
  const bool has_all = classes.size() == answers.classes.size();
  return element("div", element("h3", Html(has_all ? "Accuracy of each class"
                                                   : "Classes with the lowest accuracy")) +
                            table(rows, "shares"));
}

// Of a multi-label set: the classes with the lowest average precision first.
Html precision_by_class(const Answers& answers) {
  std::vector<std::pair<double, std::size_t>> classes;
  for (std::size_t i = 0; i < answers.class_precision.size(); ++i) {
    if (std::isfinite(answers.class_precision[i])) {
      classes.emplace_back(answers.class_precision[i], i);
    }
  }
  std::sort(classes.begin(), classes.end());
  classes.resize(std::min(classes.size(), kManyRows));
  std::vector<std::vector<Html>> rows{{Html("class"), Html("average precision"), Html("images")}};
  for (const auto& [precision, i] : classes) {
    rows.push_back({Html(shortened(answers.classes[i], 60)),
                    barred(precision, kRight, format_fixed(precision, 4)),
                    Html(format_count(answers.class_images[i]))});
  }
  return element("div",
                 element("h3", Html("Average precision of each class")) + table(rows, "shares"));
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
  return element("div", {{"class", "grows"}},
                 element("h3", Html("Test images with the highest loss")) +
                     element("div", {{"class", "images"}}, images));
}

}  // namespace

Html answers_section(const RunView& run, std::size_t runs) {
  if (run.record.evaluation.is_null()) return {};
  try {
    const Answers answers = read_answers(run.record.evaluation);
    Html tables;
    Html whole;
    if (!answers.class_precision.empty()) {
      tables = precision_by_class(answers);
    } else {
      const bool has_table = has_room_for_table(answers, runs);
      const std::size_t rows = has_table ? kRows : kManyRows;
      tables = most_frequent_mistakes(answers, rows) + accuracy_by_class(answers, rows) +
               worst_images(answers, runs);
      if (has_table)
        whole = element("details", element("summary", Html("Whole table")) + whole_table(answers));
    }
    return section("Answers",
                   element("p", Html("Of the test images, after step ") +
                                    value_cell(answers.step, Unit::kNumber) + Html(".")) +
                       element("div", {{"class", "answers"}}, tables) + whole);
  } catch (const DataError& error) {
    return section("Answers", element("p", paragraph_text(error.what())));
  }
}

}  // namespace tandem::report
