#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/columns.h"
#include "base/record.h"
#include "base/schema.h"
#include "forebay/pipeline.h"
#include "pipeline/description.h"
#include "plan/random.h"

namespace forebay {

/// Which sample an operator is working on. Everything random follows from `key` alone.
struct SampleContext {
  SampleKey key;  ///< seed, epoch, id, occurrence
  WorkMemory* memory = nullptr;
};

/// One operator, ready to run on any number of threads at once.
class RecordOp {
 public:
  virtual ~RecordOp() = default;
  /// Changes the record from the schema before to the schema after. An error leaves the record unusable.
  virtual Status apply(Record& record, const SampleContext& context) const = 0;
};

/// An operator on many rows at once: row by row in meaning, and nothing random. May run on any number of threads at once.
class ColumnOp {
 public:
  virtual ~ColumnOp() = default;
  /// Changes the columns from the schema before to the schema after. Memory that columns share is never written to: what changes
  /// gets memory of its own, reserved first. Rows that are bad in themselves go to `bad_rows`; an error is one of all rows, and
  /// leaves the columns unusable.
  virtual Status apply(Columns& columns, WorkMemory& memory) const = 0;
};

/// Fields that an operator works with.
struct FieldUse {
  std::vector<std::string> reads;  ///< looked at, where they are there
  std::vector<std::string> makes;  ///< are there afterwards, changed or new
};

enum class ArgType : uint8_t { kInt, kFloat, kBool, kText, kSize, kFloats, kFields, kDType, kBytes, kJson };

/// An argument of an operator, the same in every face.
struct ArgDef {
  std::string name;
  ArgType type = ArgType::kInt;
  bool required = false;
  Json default_value;
  std::string help;
};

/// An operator: its one name in all faces, its arguments, what it does to the schema, and how to make it run.
struct OpDef {
  std::string name;
  std::string help;
  std::vector<ArgDef> args;
  /// Draws random numbers. Its place among such operators is part of the random key.
  bool random = false;
  /// Changes `schema` to what leaves the operator; adds every problem it finds (leaving op empty: the caller fills it in).
  std::function<void(const OpSpec&, Schema& schema, std::vector<Problem>&)> infer;
  /// Only called after infer() found no problem, with the schema that entered it. `random_index` is 0 for the first random
  /// operator of the pipeline.
  std::function<Result<std::unique_ptr<RecordOp>>(const OpSpec&, const Schema& before, uint32_t random_index)> compile;
  /// The same for many rows at once. Empty, or null where it answers so for these arguments and this schema, where the
  /// operator knows single samples only.
  std::function<Result<std::unique_ptr<ColumnOp>>(const OpSpec&, const Schema& before)> compile_columns = {};
  /// Empty where the operator reads and changes the fields that its arguments `field` and `fields` name, and no others.
  std::function<FieldUse(const OpSpec&)> uses = {};
};

}  // namespace forebay
