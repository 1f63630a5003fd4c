#include "loader/describe/user_code.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "forebay/string_list.h"
#include "loader/describe/check.h"
#include "ops/definition/args.h"
#include "pipeline/catalog.h"
#include "pipeline/part_fields.h"

namespace forebay {

namespace {

Tensor as_tensor(const Value& value) {
  if (value.kind == FieldKind::kTensor) return value.tensor;
  return {DType::kUint8, Shape{static_cast<int64_t>(value.bytes.size())}, value.bytes};
}

Result<Sample> sample_of(Record& record, const Schema& schema, const std::vector<std::string>& fields,
                         WorkMemory& memory) {
  Sample sample;
  for (size_t i = 0; i < record.size(); ++i) {
    const std::string& name = schema[i].name;
    if (!fields.empty() && std::find(fields.begin(), fields.end(), name) == fields.end()) continue;
    FOREBAY_RETURN_IF_ERROR(record[i].materialize(memory));
    if (record[i].kind != FieldKind::kAny) sample.emplace(name, as_tensor(record[i]));
  }
  return sample;
}

// Copies the fields. The function may change them in place, and their memory may belong to the data
// set (a row of an array, a table of labels).
Status make_own(Sample& sample, WorkMemory& memory) {
  for (auto& [name, tensor] : sample) {
    FOREBAY_RETURN_IF_ERROR(memory.reserve(tensor.nbytes()));
    Tensor copy = Tensor::allocate(tensor.dtype, tensor.shape);
    if (copy.nbytes() > 0) std::memcpy(copy.buffer.data(), tensor.buffer.data(), copy.nbytes());
    tensor = std::move(copy);
  }
  return {};
}

// Whether the memory is large enough for the shape. Divides by each dimension, since the product of
// dimensions from user code may overflow.
bool holds(const Tensor& tensor) {
  uint64_t room = tensor.buffer.size() / dtype_size(tensor.dtype);
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) return true;
  for (const int64_t dim : tensor.shape) room /= static_cast<uint64_t>(dim);
  return room > 0;
}

// A field of bytes, text or a list of them keeps its kind if the tensor has the form of bytes.
Result<Value> value_of(const std::string& name, Tensor tensor, FieldKind before) {
  const bool possible = tensor.shape.rank() < Shape::kMaxRank &&
                        std::all_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t dim) { return dim >= 0; });
  if (!possible || !holds(tensor)) {
    return invalid_argument(fmt::format("the function gave '{}' as {} {} in {} bytes of memory", name,
                                        dtype_name(tensor.dtype), tensor.shape.to_string(), tensor.buffer.size()));
  }
  const bool string = tensor.dtype == DType::kUint8 && tensor.shape.rank() == 1;
  if (!string || before == FieldKind::kTensor || before == FieldKind::kAny) return Value::of(std::move(tensor));
  Buffer bytes = tensor.buffer.slice(0, tensor.nbytes());
  if (before == FieldKind::kBytes) return Value::of_bytes(std::move(bytes));
  if (before == FieldKind::kText) return Value::of_text(std::move(bytes));
  if (StringList::is_valid(bytes.span())) return Value::of_list(before, std::move(bytes));
  return invalid_argument(
      fmt::format("the function gave '{}' as bytes that are no list of strings; make them with StringList::pack, or "
                  "give another name to what they are",
                  name));
}

// An exception of the user's function is a failure of the sample; std::bad_alloc is one of the
// machine.
template <typename Call>
Status guarded(Call&& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return Status(Code::kUser, error.what())
        .with_payload(std::make_shared<std::exception_ptr>(std::current_exception()));
  } catch (...) {
    return Status(Code::kUser, "the function threw something that is no std::exception")
        .with_payload(std::make_shared<std::exception_ptr>(std::current_exception()));
  }
}

class NativeMap final : public RecordOp {
 public:
  NativeMap(std::shared_ptr<const MapAttachment> attachment, Schema before, Schema after,
            std::vector<std::string> fields)
      : attachment_(std::move(attachment)), before_(std::move(before)), after_(std::move(after)),
        fields_(std::move(fields)) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(Sample sample, sample_of(record, before_, fields_, *context.memory));
    FOREBAY_RETURN_IF_ERROR(make_own(sample, *context.memory));
    FOREBAY_RETURN_IF_ERROR(guarded([&] { return attachment_->function(sample); }));
    Record made(after_.size());
    for (size_t i = 0; i < after_.size(); ++i) {
      const std::string& name = after_[i].name;
      const std::optional<size_t> old = before_.find(name);
      auto found = sample.find(name);
      if (found != sample.end()) {
        FOREBAY_ASSIGN(made[i], value_of(name, std::move(found->second), old ? record[*old].kind : FieldKind::kTensor));
      } else if (old) {
        made[i] = std::move(record[*old]);
      } else {
        return unsupported(fmt::format("the function did not give the field '{}'", name));
      }
    }
    record = std::move(made);
    return {};
  }

 private:
  const std::shared_ptr<const MapAttachment> attachment_;
  const Schema before_, after_;
  const std::vector<std::string> fields_;
};

class NativeFilter final : public RecordOp {
 public:
  NativeFilter(std::shared_ptr<const FilterAttachment> attachment, Schema before, std::vector<std::string> fields)
      : attachment_(std::move(attachment)), before_(std::move(before)), fields_(std::move(fields)) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(const Sample sample, sample_of(record, before_, fields_, *context.memory));
    bool keep = false;
    FOREBAY_RETURN_IF_ERROR(guarded([&]() -> Status {
      FOREBAY_ASSIGN(keep, attachment_->function(sample));
      return {};
    }));
    Tensor answer = Tensor::allocate(DType::kBool, {});
    *answer.data<uint8_t>() = keep ? 1 : 0;
    record.clear();
    record.push_back(Value::of(std::move(answer)));
    return {};
  }

 private:
  const std::shared_ptr<const FilterAttachment> attachment_;
  const Schema before_;
  const std::vector<std::string> fields_;
};

void check_fields(const OpSpec& op, const Schema& schema, std::vector<Problem>& problems) {
  if (schema.open_ended || !op.args.contains("fields")) return;
  for (const std::string& name : field_list(op.args["fields"])) {
    if (schema.find(name)) continue;
    problems.push_back(
        {"", fmt::format("there is no field '{}'", name), fmt::format("the fields here are: {}", schema.names())});
  }
}

Schema without_types(const Schema& schema, const std::vector<std::string>& fields) {
  Schema result;
  for (const Field& field : schema) {
    if (std::find(fields.begin(), fields.end(), field.name) == fields.end()) {
      result.push_back(field);
    } else {
      Field any;
      any.name = field.name;
      any.kind = FieldKind::kAny;
      any.pad_value = field.pad_value;
      any.pad_length = field.pad_length;
      result.push_back(std::move(any));
    }
  }
  result.open_ended = true;
  return result;
}

// Schema after a function that may change everything: only the padding of fields remains known.
Schema only_padding(const Schema& schema) {
  Schema result;
  for (const Field& field : schema) {
    if (!field.pad_value) continue;
    Field padded;
    padded.name = field.name;
    padded.kind = FieldKind::kAny;
    padded.pad_value = field.pad_value;
    padded.pad_length = field.pad_length;
    result.push_back(std::move(padded));
  }
  return result;
}

}  // namespace

// A step with a function has its name, also if another language holds the function.
void check_function(const OpSpec& op, Problems& problems) {
  if (op.attachment || !op.attachment_name.empty()) return;
  problems.add(
      "its function is missing; a pipeline read from JSON has none",
      fmt::format("take the step out, and put .{}(function) behind Pipeline.from_json(...) in your program", op.name));
}

std::string name_of_function(const OpSpec& op) {
  return op.attachment_name.empty() ? op.name : fmt::format("{}({})", op.name, op.attachment_name);
}

OpDef map_op() {
  OpDef def;
  def.name = "map";
  def.help = R"(The user's own function: `fn(sample)` gets a dict of fields and returns one.

A field is a NumPy array (a copy, yours to write to), str or bytes, or a list of str or of bytes; returned values may also be numbers or
torch tensors. `fn` runs several times at once. Its exceptions keep type and traceback and gain the sample's key as a note; a
StopIteration becomes a RuntimeError, as one that leaves a generator does, since it would end the loop over the loader.

Behind `.pack`, a sample is a packed block. What `fn` returns has one shape in all blocks, and an exception takes the place of the whole
batch, whatever `on_error` says.)";
  def.function = "the function. It must not depend on anything that changes from call to call.";
  def.args = {
      {"fields", ArgType::kFields, false, nullptr,
       "the fields that `fn` gets and may change, at least one; what it returns is then added to the sample. By "
       "default it gets all "
       "of them, and what it returns is the new sample. Name here also a field that `fn` replaces by one of another "
       "type or shape: steps behind go by what a field was that is not named."},
      {"adds", ArgType::kFields, false, nullptr, "the fields that a C++ function makes", ArgForm::kPlain,
       ArgUse::kValue, ArgFaces::kCpp},
      implied({"random", ArgType::kBool, false, false,
               "call `fn(sample, rng)` with a `numpy.random.Generator` made for this sample, epoch and step",
               ArgForm::kPlain, ArgUse::kRandom, ArgFaces::kPython}),
      {"workers", ArgType::kText, false, "threads",
       "\"threads\": on threads of Python's. \"processes\": in worker processes, as many as the loader's `threads`, "
       "for functions that hold the interpreter lock; InvalidArgument when the loader is opened if `fn` cannot be "
       "pickled. \"auto\": on threads, and in worker processes once they turn out to take turns for the lock, where "
       "`fn` can be pickled and that is faster: `tuning()` tells.",
       ArgForm::kPlain, ArgUse::kRun, ArgFaces::kPython},
      {"version", ArgType::kText, false, nullptr,
       "say when the function changed; part of the pipeline's fingerprint. A cache on disk behind it needs one.",
       ArgForm::kPlain, ArgUse::kVersion},
      implied({"epoch", ArgType::kBool, false, false,
               "call `fn(sample, epoch=...)`, with `random` `fn(sample, rng, epoch=...)`: the epoch that the sample is "
               "of, from 0, as `loader.epoch` counts them; also for samples that are prepared ahead. A `.cache()`, "
               "`.filter()` or `.pack()` behind it is refused: it would keep the results of one epoch.",
               ArgForm::kNamed, ArgUse::kValue, ArgFaces::kPython})};
  def.role = OpRole::kFunction;
  def.uses = [](const OpSpec& op, const Schema&) {
    FieldUse use;
    use.reads = use.makes = field_list(op.args.value("fields", Json()));
    for (std::string& name : field_list(op.args.value("adds", Json()))) use.makes.push_back(std::move(name));
    return use;
  };
  def.infer = [args = def.args](const OpSpec& op, Schema& schema, std::vector<Problem>& found) {
    Problems problems(found);
    check_args(op.args, args, problems);
    check_function(op, problems);
    check_fields(op, schema, found);
    const std::vector<std::string> fields = field_list(op.args.value("fields", Json()));
    if (op.attachment) {
      // A C++ function changes the sample in place, and names the fields that it adds.
      std::vector<std::string> changed = fields;
      for (const Field& field : schema) {
        if (fields.empty()) changed.push_back(field.name);
      }
      schema = without_types(schema, changed);
      for (const std::string& name : field_list(op.args.value("adds", Json()))) {
        Field added;
        added.name = name;
        added.kind = FieldKind::kAny;
        if (!schema.find(name)) schema.push_back(std::move(added));
      }
      schema.open_ended = false;
    } else {
      schema = fields.empty() ? only_padding(schema) : without_types(schema, fields);
      schema.open_ended = true;
    }
  };
  // A function of Python's has a stage of its own instead.
  def.compile = [infer = def.infer](const OpSpec& op, const Schema& before,
                                    uint32_t) -> Result<std::unique_ptr<RecordOp>> {
    Schema after = before;
    std::vector<Problem> none;
    infer(op, after, none);
    return native_map(std::static_pointer_cast<const MapAttachment>(op.attachment), before, std::move(after),
                      field_list(op.args.value("fields", Json())));
  };
  return def;
}

std::vector<ArgDef> dataset_args() {
  return {{"size", ArgType::kInt, true, nullptr, "how many samples there are"},
          {"version", ArgType::kText, false, nullptr, "changed with what the data set gives", ArgForm::kPlain,
           ArgUse::kVersion},
          {"epoch", ArgType::kBool, false, nullptr, "its set_epoch() is called, as what it gives follows the epoch",
           ArgForm::kNamed}};
}

OpDef dataset_items_op() {
  OpDef def;
  def.name = "dataset_items";
  def.help = "The samples of a part of a zip, which the user's own object gives.";
  def.args = dataset_args();
  def.role = OpRole::kFunction;
  def.made_by_sources = true;
  def.uses = [](const OpSpec&, const Schema&) { return FieldUse(); };
  def.infer = [](const OpSpec& op, Schema& schema, std::vector<Problem>& found) {
    Problems problems(found);
    check_args(op.args, dataset_args(), problems);
    if (op.part.empty()) problems.add("only a zip makes such a step", "take it out");
    schema = Schema();
    schema.open_ended = true;
  };
  return def;
}

OpDef filter_op() {
  OpDef def;
  def.name = "filter";
  def.help = R"(Keeps the samples for which `fn(sample)` is true.

Decided once over the whole data set, in a pass that reads only the fields named, and kept: lengths stay known. A sample for which a step
before fails, so that nothing can be decided, goes by the loader's `on_error`: it is not kept, or raised.)";
  def.function = "the function";
  def.args = {{"fields", ArgType::kFields, false, nullptr, "the fields that `fn` gets, by default all of them"}};
  def.effect = OpEffect::kSelection;
  def.role = OpRole::kNone;
  def.freezes = true;
  def.uses = [](const OpSpec& op, const Schema&) { return FieldUse{field_list(op.args.value("fields", Json())), {}}; };
  def.infer = [args = def.args](const OpSpec& op, Schema& schema, std::vector<Problem>& found) {
    Problems problems(found);
    check_args(op.args, args, problems);
    check_function(op, problems);
    check_fields(op, schema, found);
  };
  return def;
}

std::unique_ptr<RecordOp> native_map(std::shared_ptr<const MapAttachment> attachment, Schema before, Schema after,
                                     std::vector<std::string> fields) {
  return std::make_unique<NativeMap>(std::move(attachment), std::move(before), std::move(after), std::move(fields));
}

std::unique_ptr<RecordOp> native_filter(std::shared_ptr<const FilterAttachment> attachment, Schema before,
                                        std::vector<std::string> fields) {
  return std::make_unique<NativeFilter>(std::move(attachment), std::move(before), std::move(fields));
}

namespace {

// Lets a function of a part of a zip see the names of its own part, and the fields of others pass.
void keep_other_parts(const std::string& part, bool names_fields, const Schema& before, ForeignStage& stage) {
  stage.part = part;
  Schema own;
  for (Field field : stage.input_schema) {
    field.name = name_in_part(part, field.name).value_or(field.name);
    own.push_back(std::move(field));
  }
  stage.input_schema = std::move(own);
  for (const Field& field : stage.output_schema) {
    const bool passes = names_fields || !name_in_part(part, field.name);
    stage.passing.push_back(passes ? before.find(field.name) : std::nullopt);
  }
}

}  // namespace

ForeignStage foreign_stage(const OpSpec& op, size_t step, uint32_t random_index, const Schema& before,
                           const Schema& after) {
  ForeignStage stage;
  stage.name = name_of_function(op);
  stage.step = stage.number = step;
  stage.random_index = random_index;
  stage.counters = std::make_shared<StepCounters>();
  stage.output_schema = after;
  if (step == 0) return stage;
  const OpDef& def = *catalog().find(op.name);
  const std::vector<std::string> fields = def.used(op, before).reads;
  // A function that names fields returns only those; a function that gets all fields returns all.
  const bool names_fields = !field_list(op.args.value("fields", Json())).empty();
  stage.merge = names_fields && def.role == OpRole::kFunction;
  stage.takes_all = !names_fields;
  for (size_t i = 0; i < before.size(); ++i) {
    if (!fields.empty() && std::find(fields.begin(), fields.end(), before[i].name) == fields.end()) continue;
    if (!name_in_part(op.part, before[i].name)) continue;
    stage.inputs.push_back(i);
    stage.input_schema.push_back(before[i]);
  }
  if (!op.part.empty()) keep_other_parts(op.part, names_fields, before, stage);
  return stage;
}

}  // namespace forebay
