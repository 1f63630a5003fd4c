#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/schema.h"
#include "forebay/problem.h"
#include "pipeline/column_op.h"
#include "pipeline/description.h"
#include "pipeline/op_role.h"
#include "pipeline/op_spec.h"
#include "pipeline/record_op.h"

namespace forebay {

/// The fields that an operator works with.
struct FieldUse {
  std::vector<std::string> reads;          ///< must exist before the operator
  std::vector<std::string> makes;          ///< exist after it, changed or new
  std::vector<std::string> optional = {};  ///< read if they exist
  /// The operator changes each of its fields, which the argument `field` names, independently of
  /// the others.
  bool each = false;
  /// Field that is read in place of the one in `reads` if user code makes only this one.
  std::string or_else = {};
};

/// The kind of samples that an operator is for. Documents are ordered by it.
enum class OpGroup : uint8_t { kGeneral, kImage, kColumn, kSound, kText, kStream };

/// The type of an argument. Each face (Python, C++, JSON) converts its own values by it.
enum class ArgType : uint8_t {
  kInt,
  kFloat,
  kLimit,  ///< a number; infinity means no limit, and is left out of descriptions
  kBool,
  kText,
  kTextOrNone,  ///< a text; the empty text is None in Python
  kPath,        ///< a local file or folder
  kFileHash,    ///< xxh3-128 of the file named by the kPlace argument; faces compute it
  kSize,
  kFloats,   ///< one or more numbers
  kRange,    ///< one number, or low and high
  kLowHigh,  ///< low and high
  kFields,
  kDType,
  kBytes,
  kNumberOrWord,
  kTextByField,
  kIntByField,    ///< an integer, or one for each field
  kFloatByField,  ///< a number, or one for each field
  kPairs,
  kScalar,         ///< a number, a bool or a text
  kValuesByField,  ///< for each field an integer or a text, or several
  kWeights,        ///< the name of a field, or one number for each sample
  kJson
};

/// The meaning of an argument for code that composes plans.
enum class ArgUse : uint8_t {
  kValue,      ///< decides the result of the step
  kPlace,      ///< location of the data, which does not identify its content
  kRandom,     ///< a bool: whether the step draws random numbers
  kRun,        ///< how user code is run; it does not change results and is in no description
  kVersion,    ///< version of the user's function
  kDiskBytes,  ///< size of a cache on disk; 0 for none
};

/// How an argument is passed in Python.
enum class ArgForm : uint8_t {
  kPlain,  ///< by position or by name
  kNamed,  ///< by name only
  kList,   ///< as all positional arguments: `select("a", "b")`
  kPairs,  ///< as all keyword arguments: `rename(a="b")`
};

/// The faces that have an argument. JSON has all arguments.
enum class ArgFaces : uint8_t { kAll, kPython, kCpp };

/// An argument of an operator, the same in every face.
struct ArgDef {
  std::string name;
  ArgType type = ArgType::kInt;
  bool required = false;
  Json default_value;
  /// Documents show all of it, messages the first sentence. It begins in lower case, and a single
  /// sentence has no period.
  std::string help;
  ArgForm form = ArgForm::kPlain;
  ArgUse use = ArgUse::kValue;
  ArgFaces faces = ArgFaces::kAll;
  /// Name of another argument that may be given as a pair of its own value and this one, in Python.
  std::string or_within = {};
  bool implied = false;  ///< faces leave the default out of descriptions, even if it was given
};

/// The argument with its default left out of descriptions.
inline ArgDef implied(ArgDef arg) {
  arg.implied = true;
  return arg;
}

/// The definition of an operator: its name in all faces, its arguments, its effect on the schema,
/// and functions that compile it. `ops` defines one per operator, and a Catalog holds them.
/// `tools/operators` writes methods, option structs and documents from it.
struct OpDef {
  std::string name;
  OpGroup group = OpGroup::kGeneral;
  /// A summary, then paragraphs between empty lines. Line breaks within a paragraph are spaces.
  std::string help;
  std::string function = {};  ///< help for the user's function of the step; empty if it has none
  std::vector<ArgDef> args;
  /// The operator always draws random numbers (see ArgUse::kRandom). Its number among such
  /// operators of the pipeline is part of the random key.
  bool random = false;
  /// Changes `schema` to the schema after the operator, and adds every problem that it finds. The
  /// caller sets Problem::op if it is empty.
  std::function<void(const OpSpec&, Schema& schema, std::vector<Problem>&)> infer;
  /// Makes the operator for single samples. Called only if infer() found no problem, with the same
  /// `before`. `random_index` is 0 for the first random operator of the pipeline.
  std::function<Result<std::unique_ptr<RecordOp>>(const OpSpec&, const Schema& before, uint32_t random_index)> compile;
  /// Makes the operator for many rows at once. Empty if the operator works on single samples only.
  /// It returns null if that is so for these arguments and this schema.
  std::function<Result<std::unique_ptr<ColumnOp>>(const OpSpec&, const Schema& before)> compile_columns = {};
  OpEffect effect = OpEffect::kContent;
  OpRole role = OpRole::kValues;
  ArgFaces faces = ArgFaces::kAll;  ///< the faces that offer it as a method; JSON describes all
  /// No face offers it: branches_of() makes such steps from the arguments of a source.
  bool made_by_sources = false;
  /// Its results are computed in one epoch and used in all, so no step before it may depend on the
  /// epoch.
  bool freezes = false;
  /// The lengths of all samples are measured before the first batch, and the order of samples
  /// depends on them.
  bool measures = false;
  /// The lengths of rows, and the sizes of pictures, that it makes.
  SizeEffect sizes = SizeEffect::kByValues;
  /// Returns the fields that it works with if `before` is the schema before it. The arguments may
  /// be unchecked. Empty if it works with none.
  std::function<FieldUse(const OpSpec&, const Schema& before)> uses = {};

  /// Returns the libraries, with their versions, on which its results depend in addition to those
  /// of codec_versions(). Empty if there are none.
  std::function<std::string()> versions = {};

  // These call the functions above. For a step of a part of a zip (OpSpec::part), the function sees
  // the fields of that part alone, and its result is about the fields of all parts.
  FieldUse used(const OpSpec& op, const Schema& before) const;
  void follow(const OpSpec& op, Schema& schema, std::vector<Problem>& problems) const;
  Result<std::unique_ptr<RecordOp>> make(const OpSpec& op, const Schema& before, uint32_t random_index) const;
  /// Null also if there is no compile_columns().
  Result<std::unique_ptr<ColumnOp>> make_columns(const OpSpec& op, const Schema& before) const;

  /// True if samples or their order depend on such a step. If not, a run may be continued with a
  /// different step.
  bool changes_samples() const {
    return measures || (effect != OpEffect::kBatching && !works_on_batches(effect) && effect != OpEffect::kCaching &&
                        effect != OpEffect::kBuffering);
  }
  /// True if it needs a pass over all samples before the first batch.
  bool needs_pass() const { return measures || (freezes && effect != OpEffect::kCaching); }

  /// The value of the argument with that use: the given one, or the default. Null if the operator
  /// has no such argument.
  Json given(const OpSpec& op, ArgUse use) const;
};

}  // namespace forebay
