// The range that the curves of many ranks span, per column of a drawing. One thread at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tandem/report/thin.hpp"

namespace tandem::report {

class Band {
 public:
  explicit Band(const Columns& columns) : columns_(columns), of_column_(columns.count) {}

  void add(const Points& points);
  // Lowest, mean and highest, each with its name; a point for each column that has any.
  std::vector<std::pair<std::string, Points>> curves() const;

 private:
  struct Column {
    double low = 0;
    double high = 0;
    double sum = 0;
    double count = 0;
  };
  Columns columns_;
  std::vector<Column> of_column_;
};

}  // namespace tandem::report
