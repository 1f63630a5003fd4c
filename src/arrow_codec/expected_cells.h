#pragma once

#include <string>
#include <vector>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "arrow_codec/table_plan.h"
#include "base/columns.h"
#include "base/table_codec.h"

namespace forebay::arrow_codec_test {

/// One row of one leaf, read value by value through Arrow's scalars. It shares no code with the
/// codec except the path to the leaf.
struct Cell {
  /// Bytes of each element; one element for scalars and strings.
  std::vector<std::string> elements;
  std::vector<std::vector<bool>> valid;   ///< by level: whether each slot is valid
  std::vector<std::vector<int>> lengths;  ///< by list level: length of each list
};

/// Reads one row of a leaf into a Cell. Null elements get the bytes `fill`.
class CellReader {
 public:
  CellReader(const Leaf& leaf, std::string fill) : leaf_(leaf), fill_(std::move(fill)) {}
  Cell read(const std::shared_ptr<arrow::Scalar>& scalar);

 private:
  void visit(std::shared_ptr<arrow::Scalar> scalar, size_t step, size_t level, bool valid, bool in_tensor);
  void leaf(const std::shared_ptr<arrow::Scalar>& scalar, size_t level, bool valid);

  const Leaf& leaf_;
  std::string fill_;
  Cell cell_;
};

/// Expects all fields of `columns` that come from `leaf` to equal the column, from row `first` on,
/// with nulls as masks.
void expect_column(const Columns& columns, const Leaf& leaf, const arrow::ChunkedArray& column, int64_t first);

/// The same for all columns of a table that Arrow read.
void expect_table(const Columns& columns, const TablePlan& plan, const arrow::Table& table, int64_t first);

/// The same for all groups of a file, opened with masks for nulls.
void expect_file(const TableCodec& codec, const std::string& file, const arrow::Table& expected);

}  // namespace forebay::arrow_codec_test
