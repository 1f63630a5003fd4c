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

/// Fields that an operator works with.
struct FieldUse {
  std::vector<std::string> reads;          ///< must be there
  std::vector<std::string> makes;          ///< are there afterwards, changed or new
  std::vector<std::string> optional = {};  ///< looked at where they are there
  bool each = false;         ///< each of them, all named by `field`, is changed without regard to the others
  std::string or_else = {};  ///< read in place of the one in `reads` where user code makes this one only
};

/// The samples that an operator is for; orders the documents.
enum class OpGroup : uint8_t { kGeneral, kImage, kColumn, kSound, kText, kStream };

/// The values that an argument takes. Each face converts its own values by the type.
enum class ArgType : uint8_t {
  kInt,
  kFloat,
  kLimit,  ///< a number; an infinite one that limits nothing is not given
  kBool,
  kText,
  kTextOrNone,  ///< a text, empty for none; None in Python
  kPath,        ///< a local file or folder
  kFileHash,    ///< xxh3-128 of the file that the argument of use kPlace names; faces compute it
  kSize,
  kFloats,   ///< a number, or several
  kRange,    ///< a number, or low and high
  kLowHigh,  ///< low and high
  kFields,
  kDType,
  kBytes,
  kNumberOrWord,
  kTextByField,
  kPairs,
  kScalar,         ///< a number, a bool or a text
  kValuesByField,  ///< for each field an integer or a text, or several
  kJson
};

/// What an argument is to those who compose a plan.
enum class ArgUse : uint8_t {
  kValue,      ///< says what the step does
  kPlace,      ///< where the data lies, not what is in it
  kRandom,     ///< a bool: true where the step draws random numbers
  kRun,        ///< how user code is run, never what comes of it: in no description
  kVersion,    ///< tells one state of the user's function from another
  kDiskBytes,  ///< bytes that outlive the process; 0 for none
};

/// How an argument is given where arguments have places: in Python.
enum class ArgForm : uint8_t {
  kPlain,  ///< by its place or its name
  kNamed,  ///< by its name only
  kList,   ///< as all that has a place: `select("a", "b")`
  kPairs,  ///< as all that has a name: `rename(a="b")`
};

/// Which faces have an argument; JSON has all of them.
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
  std::string or_within = {};  ///< an argument that may hold this one, too, in Python: a pair that is one thing
  bool implied = false;        ///< faces leave the default out of descriptions, even where it was given
};

/// The argument with its default left out of descriptions.
inline ArgDef implied(ArgDef arg) {
  arg.implied = true;
  return arg;
}

/// An operator: its one name in all faces, its arguments, its effect on the schema, and how to make
/// it run. `tools/operators` writes methods, option structs and documents from it.
struct OpDef {
  std::string name;
  OpGroup group = OpGroup::kGeneral;
  /// A summary, then paragraphs between empty lines. Line breaks within a paragraph are spaces.
  std::string help;
  std::string function = {};  ///< help of the user's function that a step holds; empty where it holds none
  std::vector<ArgDef> args;
  /// Draws random numbers, always (see ArgUse::kRandom). Its place among such operators is part of the random key.
  bool random = false;
  /// Changes `schema` to what leaves the operator; adds every problem it finds (leaving op empty: the caller fills it in).
  std::function<void(const OpSpec&, Schema& schema, std::vector<Problem>&)> infer;
  /// Only called after infer() found no problem, with the schema that entered it. `random_index` is 0 for the first random
  /// operator of the pipeline.
  std::function<Result<std::unique_ptr<RecordOp>>(const OpSpec&, const Schema& before, uint32_t random_index)> compile;
  /// The same for many rows at once. Empty, or null where it answers so for these arguments and this schema, where the
  /// operator knows single samples only.
  std::function<Result<std::unique_ptr<ColumnOp>>(const OpSpec&, const Schema& before)> compile_columns = {};
  OpEffect effect = OpEffect::kContent;
  OpRole role = OpRole::kValues;
  /// Results of one epoch serve all epochs, so no step before it may depend on the epoch.
  bool freezes = false;
  /// The fields it works with, where `before` enters it. For arguments that nobody has checked. Empty: none.
  std::function<FieldUse(const OpSpec&, const Schema& before)> uses = {};

  /// The libraries that its results depend on beside those of codec_versions(), with their versions. Empty: none.
  std::function<std::string()> versions = {};

  FieldUse used(const OpSpec& op, const Schema& before) const { return uses ? uses(op, before) : FieldUse(); }
  /// The argument of that use, as given or else by default; null where there is none.
  Json given(const OpSpec& op, ArgUse use) const;
};

}  // namespace forebay
