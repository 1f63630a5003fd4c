#include <fmt/format.h>

#include "ops/definition/args.h"
#include "ops/definition/registry.h"
#include "ops/picture_fields.h"

namespace forebay {
namespace {

class RandomFlip final : public RecordOp {
 public:
  RandomFlip(std::vector<PictureField> fields, double p, uint32_t operation)
      : fields_(std::move(fields)), p_(p), operation_(operation) {}

  Status apply(Record& record, const SampleContext& context) const override {
    FOREBAY_ASSIGN(const auto images, pictures(record, fields_, *context.memory));
    if (RandomStream(context.key, operation_).uniform() >= p_) return {};
    for (const SamplePicture& picture : images) picture.image->flip();
    return {};
  }

 private:
  std::vector<PictureField> fields_;
  double p_;
  uint32_t operation_;
};

void infer_random_flip(const Args& args, Schema& schema, Problems& problems) {
  check_pictures(args, PixelNeed::kAny, "random_flip", schema, problems);
  const double p = args.number("p");
  if (!(p >= 0 && p <= 1)) problems.add(fmt::format("p is {}", p), "give a probability from 0 to 1");
}

Result<std::unique_ptr<RecordOp>> compile_random_flip(const Args& args, const Schema& before, uint32_t random_index) {
  return std::unique_ptr<RecordOp>(
      std::make_unique<RandomFlip>(picture_fields(args, before), args.number("p"), random_index));
}

}  // namespace

OpDef random_flip_op() {
  return make_op({.name = "random_flip",
                  .group = OpGroup::kImage,
                  .help = "Mirrors left and right with probability `p`.",
                  .args = {{"p", ArgType::kFloat, false, 0.5, "probability that pictures are mirrored"}, field_arg()},
                  .random = true,
                  .infer = infer_random_flip,
                  .compile = compile_random_flip,
                  .sizes = SizeEffect::kSame});
}

}  // namespace forebay
