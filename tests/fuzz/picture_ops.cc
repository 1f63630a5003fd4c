// Operators on pictures in any order: what is done in one pass at the end has the same bytes as one operator after the other, and
// fails alike.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ops/definition/registry.h"
#include "pipeline/catalog.h"

namespace {

using namespace forebay;

constexpr size_t kMostSteps = 8;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what.c_str());
  std::abort();
}

/// Numbers out of the input; zeros behind its end.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool any() const { return at_ < size_; }
  int64_t pick(int64_t low, int64_t high) { return low + next() % (high - low + 1); }

 private:
  int64_t next() { return at_ < size_ ? data_[at_++] : 0; }
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

OpSpec step(std::string name, Json args) { return {std::move(name), std::move(args), nullptr, ""}; }

OpSpec random_step(Choices& choose) {
  const auto size = [&] { return Json{choose.pick(1, 40), choose.pick(1, 40)}; };
  static constexpr const char* kTypes[] = {"uint8", "int16", "float32", "float16"};
  switch (choose.pick(0, 8)) {
    case 0: return step("center_crop", {{"n", size()}});
    case 1: return step("random_crop", {{"n", {choose.pick(1, 4), choose.pick(1, 4)}}});
    case 2: return step("random_resized_crop", {{"n", size()}});
    case 3: return step("random_flip", {{"p", 0.5}});
    case 4:
      return step("resize", {{"size", size()}, {"interpolation", choose.pick(0, 1) == 0 ? "bilinear" : "nearest"}});
    case 5: return step("layout", {{"order", choose.pick(0, 1) == 0 ? "chw" : "hwc"}});
    case 6:
      return step("cast",
                  {{"dtype", kTypes[choose.pick(0, 3)]}, {"errors", choose.pick(0, 1) == 0 ? "raise" : "saturate"}});
    case 7: return step("color_jitter", {{"brightness", 0.4}, {"hue", 0.1}});
    default: return step("normalize", {{"mean", 0.5}, {"std", 0.25}});
  }
}

const OpDef& op(const std::string& name) {
  static const std::vector<OpDef> ops = all_ops();
  for (const OpDef& def : ops) {
    if (def.name == name) return def;
  }
  std::abort();
}

struct Made {
  Status status;
  Tensor tensor;
};

Made run(Tensor picture, const std::vector<OpSpec>& steps, Schema schema, bool each_alone) {
  WorkMemory memory(UINT64_MAX);
  Record record;
  record.push_back(Value::of(std::move(picture)));
  const SampleContext context{{.seed = 7, .epoch = 1, .id = 3, .occurrence = 0}, &memory};
  uint32_t random_index = 0;
  for (const OpSpec& spec : steps) {
    const OpDef& def = op(spec.name);
    auto ready = def.compile(spec, schema, def.random ? random_index++ : 0);
    if (!ready.ok()) return {ready.status(), {}};
    if (Status status = (*ready)->apply(record, context); !status.ok()) return {status, {}};
    std::vector<Problem> problems;
    def.infer(spec, schema, problems);
    if (!each_alone) continue;
    if (Status status = record[0].materialize(memory); !status.ok()) return {status, {}};
  }
  Status status = record[0].materialize(memory);
  return {status, std::move(record[0].tensor)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Choices choose(data, size);
  const int64_t height = choose.pick(1, 24), width = choose.pick(1, 24), channels = choose.pick(0, 1) == 0 ? 3 : 1;
  Tensor picture = Tensor::allocate(DType::kUint8, {height, width, channels});
  for (size_t i = 0; i < picture.nbytes(); ++i) picture.buffer.data()[i] = static_cast<uint8_t>(i * 37 + i / 7);
  Field field;
  field.name = "image";
  field.shape = {Shape::kUnknown, Shape::kUnknown, channels};
  field.image = true;
  const Schema schema({field});
  std::vector<OpSpec> steps;
  Schema after = schema;
  std::string names;
  while (choose.any() && steps.size() < kMostSteps) {
    OpSpec spec = random_step(choose);
    std::vector<Problem> problems;
    Schema next = after;
    op(spec.name).infer(spec, next, problems);
    if (!problems.empty()) continue;  // check() refuses it
    after = std::move(next);
    names += spec.name + spec.args.dump() + " ";
    steps.push_back(std::move(spec));
  }
  const Made fused = run(picture, steps, schema, false), alone = run(picture, steps, schema, true);
  require(fused.status.to_string() == alone.status.to_string(),
          names + fused.status.to_string() + " / " + alone.status.to_string());
  if (!fused.status.ok()) return 0;
  require(fused.tensor.shape == alone.tensor.shape && fused.tensor.dtype == alone.tensor.dtype,
          names + "another shape");
  require(std::memcmp(fused.tensor.buffer.data(), alone.tensor.buffer.data(), fused.tensor.nbytes()) == 0,
          names + "other bytes");
  return 0;
}
