#include <algorithm>

#include <fmt/format.h>

#include "base/whole_number.h"
#include "ops/definition/args.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

const Json& requested_values(const OpSpec& op) {
  static const Json none = Json::object();
  const auto found = op.args.find("values");
  return found != op.args.end() && found->is_object() ? *found : none;
}

bool is_value(const Json& value) {
  // A number that does not fit a signed 64-bit integer would become another number.
  return value.is_string() ||
         (value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX));
}

void infer_only(const Args& args, Schema& schema, Problems& problems) {
  const Json values = args.json("values");
  if (!values.is_object() || values.empty()) {
    problems.add("it names no field", "write .only(label=[0, 1])");
    return;
  }
  for (const auto& [name, wanted] : values.items()) {
    if (!wanted.is_array() || wanted.empty() || !std::all_of(wanted.begin(), wanted.end(), is_value))
      problems.add(fmt::format("the values of '{}' are no list of whole numbers or texts", name),
                   "write .only(label=[0, 1]); numbers are below 2^63");
    const auto field = schema.find(name);
    if (!field && !schema.open_ended)
      problems.add(fmt::format("there is no field '{}'", name), fmt::format("the fields here are: {}", schema.names()));
    if (!field || schema[*field].kind == FieldKind::kAny) continue;
    const Field& found = schema[*field];
    const bool number = found.kind == FieldKind::kTensor && found.shape.rank() == 0 && is_whole(found.dtype);
    if (!number && found.kind != FieldKind::kText) {
      problems.add(fmt::format("the field {} is neither one whole number nor a text", found.to_string()),
                   "choose by another field, or with .filter");
    } else if (std::any_of(wanted.begin(), wanted.end(),
                           [&](const Json& value) { return value.is_string() == number; })) {
      problems.add(fmt::format("the field {} is a {}, which no {} equals", found.to_string(),
                               number ? "number" : "text", number ? "text" : "number"),
                   number ? "give whole numbers" : "give texts");
    }
  }
}

/// Replaces the record by one bool: true if each named field has one of its values.
class HasValues final : public RecordOp {
 public:
  HasValues(const Json& values, const Schema& schema) {
    for (const auto& [name, wanted] : values.items()) {
      Test test{*schema.find(name), {}, {}};
      for (const Json& value : wanted) {
        if (value.is_string()) {
          test.texts.push_back(value.get<std::string>());
        } else {
          test.numbers.push_back(value.get<int64_t>());
        }
      }
      // Sorted once at compile time, so that millions of samples find their values by binary
      // search.
      std::sort(test.numbers.begin(), test.numbers.end());
      std::sort(test.texts.begin(), test.texts.end());
      tests_.push_back(std::move(test));
    }
  }

  Status apply(Record& record, const SampleContext& context) const override {
    bool has = true;
    for (const Test& test : tests_) {
      FOREBAY_RETURN_IF_ERROR(record[test.field].materialize(*context.memory));
      has = has && passes(test, record[test.field]);
    }
    Tensor keep = Tensor::allocate(DType::kBool, Shape{});
    keep.buffer.data()[0] = has ? 1 : 0;
    record.clear();
    record.push_back(Value::of(std::move(keep)));
    return {};
  }

 private:
  struct Test {
    size_t field;
    std::vector<int64_t> numbers;
    std::vector<std::string> texts;
  };
  static bool passes(const Test& test, const Value& value) {
    if (const std::optional<int64_t> number = whole_number(value))
      return std::binary_search(test.numbers.begin(), test.numbers.end(), *number);
    const std::string_view text(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
    return value.kind == FieldKind::kText && std::binary_search(test.texts.begin(), test.texts.end(), text);
  }
  std::vector<Test> tests_;
};

Result<std::unique_ptr<RecordOp>> compile_only(const Args& args, const Schema& before, uint32_t) {
  return std::unique_ptr<RecordOp>(std::make_unique<HasValues>(args.json("values"), before));
}

FieldUse only_uses(const OpSpec& op, const Schema&) {
  FieldUse use;
  for (const auto& [name, wanted] : requested_values(op).items()) use.reads.push_back(name);
  return use;
}

}  // namespace

OpDef only_op() {
  return make_op({.name = "only",
                  .help = R"(Only the samples whose fields have one of the given values: `.only(label=[0, 1])`.

Decided once over the data set, as a filter is; fields that the index knows (labels of folders, arrays, columns of a manifest) are
compared without reading a sample. Ids stay those of the whole data set.)",
                  .args = {{"values", ArgType::kValuesByField, true, nullptr,
                            "for each field a whole number or a text, or several", ArgForm::kPairs}},
                  .infer = infer_only,
                  .compile = compile_only,
                  .effect = OpEffect::kSelection,
                  .uses = only_uses});
}

}  // namespace forebay
