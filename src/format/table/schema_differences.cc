#include "format/table/schema_differences.h"

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kDifferencesNamed = 10;

}  // namespace

void SchemaDifferences::add(size_t file, size_t other, std::string how, std::string end) {
  const Difference difference(std::move(how), fmt::format("'{}'{}{}", names_[other], end.empty() ? "" : " ", end));
  Files& files = files_[difference];
  if (files.count++ == 0) files.first = file;
  found_in_[current_].push_back(difference);
}

void SchemaDifferences::repeat(size_t first) {
  for (const Difference& difference : found_in_[first]) ++files_[difference].count;
}

void SchemaDifferences::add_type_conflict(const std::string& column) {
  if (conflicting_column_.empty()) conflicting_column_ = column;
}

Status SchemaDifferences::error(bool first_decides) const {
  std::string text = "the files are not one table:";
  size_t named = 0;
  for (const auto& [difference, files] : files_) {
    if (named++ == kDifferencesNamed) break;
    text += fmt::format("\n  '{}' {} {}", names_[files.first], difference.first, difference.second);
    if (files.count > 1) text += fmt::format(" (so have {} more files)", files.count - 1);
  }
  if (files_.size() > kDifferencesNamed)
    text += fmt::format("\n  and {} more differences", files_.size() - kDifferencesNamed);
  if (!conflicting_column_.empty() && !first_decides)
    text += fmt::format("\nGive the column a type with types={{'{}': 'string'}} or another type that holds all values",
                        conflicting_column_);
  return invalid_argument(text +
                          "\nName the columns that all have alike with columns=, or make a pipeline for each kind");
}

}  // namespace forebay
