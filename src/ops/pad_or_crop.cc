#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "ops/audio/sound_fields.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

constexpr int64_t kLongestCut = int64_t{1} << 31;

// Samples of one channel, or of one recording of a list.
struct SoundRow {
  int64_t begin = 0, count = 0;
};

// The first samples of each row, with zeros after its last one.
class CutSound final : public Deferred {
 public:
  CutSound(Tensor samples, std::vector<SoundRow> rows, Shape shape)
      : samples_(std::move(samples)), rows_(std::move(rows)), shape_(shape) {}
  DType dtype() const override { return DType::kFloat32; }
  Shape shape() const override { return shape_; }
  Status write(std::span<uint8_t> out, WorkMemory&) override {
    const int64_t length = shape_[shape_.rank() - 1];
    auto* to = reinterpret_cast<float*>(out.data());
    for (const SoundRow& row : rows_) {
      const int64_t taken = std::min(length, row.count);
      if (taken > 0) std::memcpy(to, samples_.data<float>() + row.begin, static_cast<size_t>(taken) * sizeof(float));
      std::fill(to + taken, to + length, 0.0f);
      to += length;
    }
    return {};
  }
  std::unique_ptr<Deferred> clone() const override { return std::make_unique<CutSound>(*this); }

 private:
  Tensor samples_;
  std::vector<SoundRow> rows_;
  Shape shape_;
};

class PadOrCrop final : public RecordOp {
 public:
  PadOrCrop(std::vector<SoundField> fields, int64_t length, bool random, uint32_t operation)
      : fields_(std::move(fields)), length_(length), random_(random), operation_(operation) {}

  Status apply(Record& record, const SampleContext& context) const override {
    // One draw for all fields: each skips the same fraction of its excess samples.
    const double share = random_ ? RandomStream(context.key, operation_).uniform() : 0.0;
    for (const SoundField& field : fields_) {
      Value& value = record[field.index];
      FOREBAY_RETURN_IF_ERROR(check_sound_value(value, field.name));
      FOREBAY_RETURN_IF_ERROR(value.materialize(*context.memory));
      Shape shape = value.tensor.shape;
      if (!field.lengths && shape[shape.rank() - 1] == length_) continue;
      std::vector<SoundRow> rows = channels_of(shape);
      if (field.lengths) {
        FOREBAY_ASSIGN(rows, recordings_of(shape[0], record[*field.lengths], field.name, *context.memory));
        shape = {static_cast<int64_t>(rows.size()), length_};
      }
      shape[shape.rank() - 1] = length_;
      for (SoundRow& row : rows) skip_excess(row, share);
      value = Value::of(std::make_unique<CutSound>(std::move(value.tensor), std::move(rows), shape));
    }
    return {};
  }

 private:
  static std::vector<SoundRow> channels_of(const Shape& shape) {
    const int64_t had = shape[shape.rank() - 1];
    std::vector<SoundRow> rows(static_cast<size_t>(shape.rank() == 1 ? 1 : shape[0]));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = {static_cast<int64_t>(i) * had, had};
    return rows;
  }

  static Result<std::vector<SoundRow>> recordings_of(int64_t samples, Value& lengths, const std::string& name,
                                                     WorkMemory& memory) {
    FOREBAY_RETURN_IF_ERROR(lengths.materialize(memory));
    if (lengths.kind != FieldKind::kTensor || lengths.dtype() != DType::kInt32 || lengths.shape().rank() != 1)
      return unsupported(fmt::format("the field '{}' has no int32 lengths of recordings", lengths_field(name)));
    std::vector<SoundRow> rows(static_cast<size_t>(lengths.shape()[0]));
    int64_t begin = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t count = lengths.tensor.data<int32_t>()[i];
      if (count < 0 || count > samples - begin)
        return unsupported(fmt::format("'{}' has {} samples, and its lengths are of more", name, samples));
      rows[i] = {begin, count};
      begin += count;
    }
    return rows;
  }

  void skip_excess(SoundRow& row, double share) const {
    const int64_t more = std::max<int64_t>(0, row.count - length_);
    const auto start = std::min(more, static_cast<int64_t>(share * static_cast<double>(more + 1)));
    row.begin += start;
    row.count -= start;
  }

  std::vector<SoundField> fields_;
  int64_t length_;
  bool random_;
  uint32_t operation_;
};

int64_t cut_length(const Args& args, int64_t rate) {
  const double samples = args.number("seconds") * static_cast<double>(rate);
  return samples >= 0 && samples < static_cast<double>(kLongestCut) ? static_cast<int64_t>(std::nearbyint(samples)) : 0;
}

void infer_pad_or_crop(const Args& args, Schema& schema, Problems& problems) {
  const std::vector<size_t> fields =
      check_sounds(args, "pad_or_crop", schema, problems, /*spectra=*/false, /*lists=*/true);
  for (const size_t index : fields) check_lengths_field(schema[index], schema, problems);
  const int64_t rate = check_known_rate(args, fields, schema, problems);
  if (rate == 0) return;
  const int64_t length = cut_length(args, rate);
  if (length < 1) {
    return problems.add(fmt::format("seconds is {}, with {} samples a second", args.number("seconds"), rate),
                        fmt::format("give a length of 1 to {} samples", kLongestCut - 1));
  }
  for (const size_t index : fields) {
    Field& field = schema[index];
    if (field.kind != FieldKind::kTensor) continue;
    const bool list = lengths_of(field, schema).has_value();
    if (list) field.shape = {Shape::kUnknown, length};
    field.shape[field.shape.rank() - 1] = length;
    field.sound = list ? SoundForm::kNone : SoundForm::kSamples;  // rows of a list are ragged, as others are
    field.rate = rate;
  }
}

Result<std::unique_ptr<RecordOp>> compile_pad_or_crop(const Args& args, const Schema& before, uint32_t random_index) {
  const int64_t length = cut_length(args, known_rate(args, before));
  return std::unique_ptr<RecordOp>(
      std::make_unique<PadOrCrop>(sound_fields(args, before), length, args.json("random").get<bool>(), random_index));
}

FieldUse pad_or_crop_uses(const OpSpec& spec, const Schema& before) {
  FieldUse use;
  const auto field = spec.args.find("field");
  use.makes = field == spec.args.end() ? std::vector<std::string>{"audio"} : field_list(*field);
  use.reads = use.makes;
  for (const std::string& name : use.makes) {
    const auto index = before.find(name);
    if (index && lengths_of(before[*index], before)) use.reads.push_back(lengths_field(name));
  }
  return use;
}

}  // namespace

OpDef pad_or_crop_op() {
  return make_op({.name = "pad_or_crop",
                  .group = OpGroup::kSound,
                  .help = "Sound of one length, `round(seconds * rate)` samples: what is longer is cut, what is "
                          "shorter has zeros behind. A list of recordings becomes (recordings, samples); its "
                          "`<field>.lengths` stay what they were.",
                  .args = {{"seconds", ArgType::kFloat, true, nullptr, "the length of all that comes out"},
                           {"random", ArgType::kBool, false, false, "cut at a random place; else the beginning stays",
                            ArgForm::kNamed, ArgUse::kRandom},
                           sound_rate_arg(),
                           sound_field_arg("a field that holds sound, or a list of them, which share one draw")},
                  .random = false,
                  .infer = infer_pad_or_crop,
                  .compile = compile_pad_or_crop,
                  .uses = pad_or_crop_uses});
}

}  // namespace forebay
