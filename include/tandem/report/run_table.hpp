// The runs of a folder as rows, and these as CSV. Throws MissingInputError if the folder is
// missing, DataError if it is itself a run, IoError.
#pragma once

#include <string>
#include <vector>

#include "tandem/core/json.hpp"

namespace tandem::report {

struct RunList {
  std::vector<Json> rows;           // by folder
  std::vector<std::string> faults;  // what could not be read; its run lacks it, or is not listed
};

// In the order of the table.
const std::vector<std::string>& run_columns();

// One object for each run folder in `runs_dir`, with these columns: numbers, texts, or null. A run
// without a summary is described by its last lines.
RunList list_runs(const std::string& runs_dir);

// Numbers before texts, and rows that lack the column last, whichever way the rest goes. Equal rows
// stay as they are.
void sort_runs(std::vector<Json>& rows, const std::string& column, bool is_descending);

// Cells for people, of the most useful columns: fewer digits, and a dash for null. Leaves out
// columns until the table fits `width`; the names of runs are never cut.
std::vector<std::vector<std::string>> to_short_cells(const std::vector<Json>& rows,
                                                     std::size_t width);

// RFC 4180, with a head. A text that a spreadsheet would take for a formula begins with a ', and
// control characters are escaped.
std::string to_csv(const std::vector<Json>& rows);
// One field of the CSV.
std::string csv_field(const std::string& text);

}  // namespace tandem::report
