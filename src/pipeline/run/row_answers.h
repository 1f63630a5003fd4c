#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "forebay/batch.h"
#include "forebay/result.h"
#include "pipeline/collate.h"
#include "pipeline/foreign.h"

namespace forebay {

/// The answers of a function for each row of a batch, which become fields of the batch. Threads
/// store different rows at once.
class RowAnswers {
 public:
  /// `kept`: fields that stay, unless the answers have one of that name.
  RowAnswers(size_t rows, std::vector<BatchField> kept);

  /// Stores the answer for a row. Returns true to the caller that stored the last one, who alone
  /// may then call fields().
  bool store(size_t row, const Schema& schema, Record record);
  /// The fields of the batch. InvalidArgument, with the row, if the answers differ in their fields,
  /// or in the type or shape of one. `name_of` names rows in messages.
  Result<std::vector<BatchField>> fields(const SampleOf& name_of) const;

 private:
  Status check_names(size_t row, const SampleOf& name_of) const;
  Result<BatchField> field(const std::string& name, const SampleOf& name_of) const;

  const std::vector<BatchField> kept_;
  std::vector<NamedValues> rows_;
  std::atomic<size_t> left_;
};

}  // namespace forebay
