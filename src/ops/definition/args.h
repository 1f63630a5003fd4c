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

/// Collects the problems that an operator's infer() finds.
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

/// The arguments of one step, read by the types in the operator's ArgDefs. The getters require
/// arguments that check_args() accepted. They return the default of an argument that was not given.
class Args {
 public:
  Args(const Json& given, std::span<const ArgDef> defs) : given_(given), defs_(defs) {}

  /// True if the argument was given or has a default that is not null.
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

/// Returns the schema indices of the named fields and adds a problem for each one that is missing.
std::vector<size_t> check_fields(std::span<const std::string> names, const Schema& schema, Problems& problems);

/// The remedy if an operator on numbers is given lists of strings.
std::string string_list_remedy(const Field& field, std::string_view op);

/// A value as messages show it. Bytes that are not UTF-8 (C++ callers may pass any) become U+FFFD.
std::string json_text(const Json& value);

/// "'a', 'b'".
std::string quoted_list(std::span<const std::string> names);

/// The definition of an operator as its file gives it. make_op() adds the behaviour that all
/// operators share. infer() and compile() receive checked arguments and need no case for missing
/// ones or wrong types.
struct OpParts {
  std::string name;
  OpGroup group = OpGroup::kGeneral;
  std::string help;
  std::vector<ArgDef> args;
  bool random = false;
  /// Called with arguments of the right types.
  std::function<void(const Args&, Schema&, Problems&)> infer;
  /// Absent if the loader itself carries out the operator.
  std::function<Result<std::unique_ptr<RecordOp>>(const Args&, const Schema& before, uint32_t random_index)> compile =
      {};
  /// If this is present and compile() is not, single samples pass through it as columns of one row.
  std::function<Result<std::unique_ptr<ColumnOp>>(const Args&, const Schema& before)> compile_columns = {};
  OpEffect effect = OpEffect::kContent;
  OpRole role = OpRole::kValues;  ///< of operators that change content
  bool freezes = false;
  bool measures = false;
  bool each = false;  ///< FieldUse::each
  SizeEffect sizes = SizeEffect::kByValues;
  /// See OpDef. If absent, the operator reads and changes the fields that its arguments `field` or
  /// `fields` name.
  std::function<FieldUse(const OpSpec&, const Schema& before)> uses = {};
};

/// Checks the arguments before infer(), and adds operator and sample to every error of a run. After
/// wrong arguments the pictures of the schema become "known later", so that one mistake does not
/// cause three problems.
OpDef make_op(OpParts parts);

}  // namespace forebay
