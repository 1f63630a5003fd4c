#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/whole_number.h"
#include "ops/definition/hash_share.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

void infer_keep_groups(const Args& args, Schema& schema, Problems& problems) {
  HashShare::check(args, problems);
  check_groups(args.text("by"), schema, problems);
}

// Numbers are hashed as text, so that the type of a column does not matter.
std::optional<std::string> group_of(const Value& value) {
  if (const std::optional<int64_t> number = whole_number(value)) return std::to_string(*number);
  if (value.kind != FieldKind::kText && value.kind != FieldKind::kBytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
}

/// Replaces the record by one bool: true if its group is in the share.
class GroupInShare final : public RecordOp {
 public:
  GroupInShare(HashShare share, std::string name, size_t field)
      : share_(std::move(share)), name_(std::move(name)), field_(field) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_RETURN_IF_ERROR(record[field_].materialize(*context.memory));
    const std::optional<std::string> group = group_of(record[field_]);
    if (!group)
      return invalid_argument(
          fmt::format("the field '{}' is neither a whole number nor a text, which tell groups", name_));
    Tensor keep = Tensor::allocate(DType::kBool, Shape{});
    keep.buffer.data()[0] = share_.has(*group) ? 1 : 0;
    record.clear();
    record.push_back(Value::of(std::move(keep)));
    return {};
  }

 private:
  const HashShare share_;
  const std::string name_;
  const size_t field_;
};

Result<std::unique_ptr<RecordOp>> compile_keep_groups(const Args& args, const Schema& before, uint32_t) {
  const std::string by = args.text("by");
  return std::unique_ptr<RecordOp>(std::make_unique<GroupInShare>(HashShare(args), by, *before.find(by)));
}

FieldUse keep_groups_uses(const OpSpec& op, const Schema&) {
  const Json by = op.args.value("by", Json());
  return by.is_string() ? FieldUse{{by.get<std::string>()}, {}} : FieldUse();
}

std::vector<ArgDef> keep_groups_args() {
  std::vector<ArgDef> args = {
      {"by", ArgType::kText, true, nullptr, "the field that tells the group, a whole number or a text"}};
  for (ArgDef& arg : HashShare::args()) args.push_back(std::move(arg));
  return args;
}

}  // namespace

OpDef keep_groups_op() {
  return make_op({.name = "keep_groups",
                  .help = R"(The share of the groups whose value has a hash from `begin` to `end`: a part of `fb.split`.

All samples of a group (a patient, a speaker) are in one share, also of data that are added later. Decided once over the data set, as a
filter is, in a pass that reads only that field. Shares are those of a hash, and of groups: a large group is in one share as a whole.)",
                  .args = keep_groups_args(),
                  .infer = infer_keep_groups,
                  .compile = compile_keep_groups,
                  .effect = OpEffect::kSelection,
                  .freezes = true,
                  .uses = keep_groups_uses});
}

}  // namespace forebay
