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
  std::vector<std::string> reads;          ///< must be there
  std::vector<std::string> makes;          ///< are there afterwards, changed or new
  std::vector<std::string> optional = {};  ///< looked at where they are there
  bool each = false;         ///< each of them, all named by `field`, is changed without regard to the others
  std::string or_else = {};  ///< read in place of the one in `reads` where user code makes this one only
};

/// What an operator does to a plan, for composers that need not know which operator it is.
enum class OpEffect : uint8_t {
  kContent,    ///< changes fields of samples; all other effects are the loader's own work
  kTaking,     ///< selects samples by their places, for which none is read
  kSelection,  ///< selects samples by their values, in a pass over all of them
  kOrder,      ///< puts the samples in another order
  kPacking,    ///< makes samples of one length of rows that differ. Only an order and a batch may follow
  kReplay,     ///< adds samples of earlier steps to each batch
  kBatching,   ///< puts samples together: nothing may follow
  kCaching,    ///< stores the results of the steps before it
  kBuffering,  ///< bounds the records that a source without an end gives too fast
};

/// Whether samples or their order depend on such a step. If not, a run may go on with another one.
constexpr bool changes_samples(OpEffect effect) {
  return effect != OpEffect::kBatching && effect != OpEffect::kCaching && effect != OpEffect::kBuffering;
}

/// What an operator does to the fields of a sample.
enum class OpRole : uint8_t {
  kNone,    ///< of operators whose effect is not OpEffect::kContent
  kValues,  ///< changes or makes fields
  kChoice,  ///< keeps the fields it reads, and no others
  kNames,   ///< gives fields other names: `names`, old to new
  kFunction,  ///< the user's own; gets the fields it reads, or all where it names none. A Python one may give back any field
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
