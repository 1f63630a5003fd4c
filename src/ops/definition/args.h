#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/operator.h"

namespace forebay {

/// Where an operator's infer() puts what is wrong.
class Problems {
 public:
  explicit Problems(std::vector<Problem>& list) : list_(list), before_(list.size()) {}
  void add(std::string message, std::string remedy) { list_.push_back({"", std::move(message), std::move(remedy)}); }
  bool any() const { return list_.size() > before_; }

 private:
  std::vector<Problem>& list_;
  size_t before_;
};

struct Size {
  int64_t height = 0, width = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

/// The arguments of one step, read by the types that the operator's ArgDefs give. The getters are for arguments that
/// check_args() found nothing wrong with; where none was given they answer the default.
class Args {
 public:
  Args(const Json& given, std::span<const ArgDef> defs) : given_(given), defs_(defs) {}

  /// Given, or with a default that is not null.
  bool has(std::string_view name) const { return !json(name).is_null(); }
  int64_t integer(std::string_view name) const { return json(name).get<int64_t>(); }
  double number(std::string_view name) const { return json(name).get<double>(); }
  std::string text(std::string_view name) const { return json(name).get<std::string>(); }
  /// One number or a list of them.
  std::vector<double> numbers(std::string_view name) const;
  /// One name or a list of them.
  std::vector<std::string> names(std::string_view name) const;
  /// n or [n] for a square, or [height, width].
  Size size(std::string_view name) const;
  DType dtype(std::string_view name) const;
  /// A number of bytes, or a text such as "2GiB".
  uint64_t bytes(std::string_view name) const;
  const Json& json(std::string_view name) const;

 private:
  const Json& given_;
  std::span<const ArgDef> defs_;
};

/// Adds a problem for every argument that is unknown, missing or of the wrong type.
void check_args(const Json& given, std::span<const ArgDef> defs, Problems& problems);

/// The places of the named fields in the schema, and a problem for each that is not there.
std::vector<size_t> check_fields(std::span<const std::string> names, const Schema& schema, Problems& problems);

/// What to do about lists of strings where an operator takes numbers.
std::string way_out_of_strings(const Field& field, std::string_view op);

/// A value as messages show it. Texts need not be UTF-8 (C++ callers give any bytes): what is not becomes U+FFFD.
std::string json_text(const Json& value);

/// "'a', 'b'".
std::string quoted_list(std::span<const std::string> names);

/// What an operator's file says of it; make_op() adds what all operators share.
/// What infer() and compile() get was checked by then, so that they need no case for what is missing or of another type.
struct OpParts {
  std::string name;
  OpGroup group = OpGroup::kGeneral;
  std::string help;
  std::vector<ArgDef> args;
  bool random = false;
  /// Called with arguments of the right types.
  std::function<void(const Args&, Schema&, Problems&)> infer;
  /// Absent for what the loader does itself.
  std::function<Result<std::unique_ptr<RecordOp>>(const Args&, const Schema& before, uint32_t random_index)> compile =
      {};
  /// Where it is there and compile() is not, single samples go through it, too, as columns of one row.
  std::function<Result<std::unique_ptr<ColumnOp>>(const Args&, const Schema& before)> compile_columns = {};
  OpRole role = OpRole::kValues;
  bool each = false;  ///< FieldUse::each
  /// See OpDef. Where there is none the operator reads and changes the fields that its arguments `field` or `fields` name.
  std::function<FieldUse(const OpSpec&, const Schema& before)> uses = {};
};

/// Checks arguments before infer() and names operator and sample in every error of a run. Where arguments are wrong the
/// pictures of the schema become "known later", so that one mistake does not give three problems.
OpDef make_op(OpParts parts);

}  // namespace forebay
