#include "ops/image/lazy_image.h"

#include <gtest/gtest.h>

#include <random>

#include "ops/ops_test_support.h"

namespace forebay::ops_test {
namespace {

const Json kMean = {0.485, 0.456, 0.406}, kStd = {0.229, 0.224, 0.225};

// Operators in usual orders, and in some that need an intermediate picture.
std::vector<std::vector<OpSpec>> chains() {
  const OpSpec normalize = step("normalize", {{"mean", kMean}, {"std", kStd}});
  const OpSpec flip = step("random_flip", {{"p", 1.0}}), maybe_flip = step("random_flip");
  const OpSpec resized_crop = step("random_resized_crop", {{"n", 24}});
  const auto saturate = [](const char* dtype) { return step("cast", {{"dtype", dtype}, {"errors", "saturate"}}); };
  return {
      {resized_crop, maybe_flip, normalize},
      {step("resize", {{"short_side", 40}}), step("center_crop", {{"n", 32}}), normalize},
      {flip, resized_crop, normalize, step("cast", {{"dtype", "float16"}})},
      {step("random_crop", {{"n", {20, 30}}}), flip, step("random_crop", {{"n", 16}}),
       step("layout", {{"order", "chw"}})},
      {step("resize", {{"size", 40}}), step("resize", {{"size", {17, 23}}}), normalize},
      {step("center_crop", {{"n", {90, 40}}}), flip, step("resize", {{"size", 33}}), normalize},
      {step("center_crop", {{"n", 100}}), step("center_crop", {{"n", 60}}), step("center_crop", {{"n", 80}}), flip},
      {step("random_crop", {{"n", 21}}), step("center_crop", {{"n", 40}}), flip, normalize},
      {normalize, flip, step("center_crop", {{"n", {80, 20}}}), step("cast", {{"dtype", "int16"}})},
      {normalize, step("layout", {{"order", "hwc"}}), step("random_crop", {{"n", 9}}), flip,
       step("layout", {{"order", "chw"}})},
      {step("layout", {{"order", "hwc"}}), resized_crop, normalize},
      {step("layout", {{"order", "chw"}}), resized_crop, flip, step("random_crop", {{"n", 20}})},
      {resized_crop, step("color_jitter", {{"brightness", 0.4}, {"hue", 0.1}}), flip, step("center_crop", {{"n", 20}}),
       normalize},
      {saturate("int8"), step("cast", {{"dtype", "float32"}}), flip, step("center_crop", {{"n", 70}})},
      {step("cast", {{"dtype", "float64"}}), step("cast", {{"dtype", "uint8"}}), step("resize", {{"size", 20}}),
       normalize},
      {step("resize", {{"size", 19}, {"interpolation", "nearest"}}), flip, normalize},
      {normalize, step("resize", {{"size", 19}, {"interpolation", "nearest"}}), flip},
      {normalize, saturate("uint8"), step("resize", {{"size", 20}})},
      {normalize, flip, saturate("int16"), step("center_crop", {{"n", {80, 20}}})},
      // Parts that lie wholly in the margin of an enlarging crop.
      {step("center_crop", {{"n", 400}}), step("random_crop", {{"n", 3}}), normalize},
      {step("center_crop", {{"n", 400}}), normalize, step("random_crop", {{"n", 3}}), flip},
      {step("cast", {{"dtype", "int16"}}), step("center_crop", {{"n", {400, 61}}}),
       step("random_crop", {{"n", {3, 50}}})},
  };
}

TEST(lazy_image, fused_equals_unfused) {
  for (const std::vector<OpSpec>& chain : chains()) {
    std::string names;
    for (const OpSpec& spec : chain) names += spec.name + spec.args.dump() + " ";
    for (const int64_t channels : {3, 1}) {
      if (channels == 1 && names.find("normalize") != std::string::npos) continue;  // three means
      const Tensor source = picture(61, 53, channels);
      const Tensor fused = run_picture(source, chain);
      const Tensor unfused = run_picture(source, chain, {.materialize_each = true});
      ASSERT_EQ(fused.shape, unfused.shape) << names;
      ASSERT_EQ(fused.dtype, unfused.dtype) << names;
      EXPECT_EQ(blob(fused), blob(unfused)) << names;
    }
  }
}

// Random compositions of all operators that move or crop, each also with a picture computed after
// every operator.
std::vector<OpSpec> random_chain(std::mt19937& random) {
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const auto size = [&] { return Json{pick(1, 40), pick(1, 40)}; };
  std::vector<OpSpec> chain;
  bool bytes = true;  // only 8-bit pixels can be interpolated
  for (int left = pick(1, 6); left > 0; --left) {
    switch (pick(0, 7)) {
      case 0:
      case 1: chain.push_back(step("center_crop", {{"n", size()}})); break;
      case 2: chain.push_back(step("random_crop", {{"n", {pick(1, 4), pick(1, 4)}}})); break;
      case 3: chain.push_back(step("random_flip", {{"p", 0.5}})); break;
      case 4:
        chain.push_back(step("resize", {{"size", size()}, {"interpolation", bytes ? "bilinear" : "nearest"}}));
        break;
      case 5: chain.push_back(step("layout", {{"order", pick(0, 1) == 0 ? "chw" : "hwc"}})); break;
      case 6:
        chain.push_back(step("cast", {{"dtype", pick(0, 1) == 0 ? "int16" : "float32"}}));
        bytes = false;
        break;
      default:
        if (!bytes) break;
        chain.push_back(step("normalize", {{"mean", kMean}, {"std", kStd}}));
        bytes = false;
    }
  }
  return chain;
}

TEST(lazy_image, random_chains_equal_their_steps_one_by_one) {
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    const std::vector<OpSpec> chain = random_chain(random);
    std::string names = std::to_string(i) + ": ";
    for (const OpSpec& spec : chain) names += spec.name + spec.args.dump() + " ";
    SCOPED_TRACE(names);
    const Tensor source = picture(1 + i % 9, 1 + i % 7, 3);
    Record fused = record_of(source), unfused = record_of(source);
    const Schema schema({picture_field()});
    const RunOptions options = {.key = {.id = i}};
    const Status status = run(schema, chain, fused, options);
    ASSERT_EQ(status.to_string(),
              run(schema, chain, unfused, {.key = {.id = i}, .materialize_each = true}).to_string());
    if (!status.ok()) continue;
    ASSERT_EQ(fused[0].tensor.shape, unfused[0].tensor.shape);
    ASSERT_EQ(blob(fused[0].tensor), blob(unfused[0].tensor));
  }
}

TEST(lazy_image, schema_says_what_comes_out) {
  for (const std::vector<OpSpec>& chain : chains()) {
    const Schema after = schema_after(Schema({picture_field()}), chain);
    const Tensor made = run_picture(picture(61, 53, 3), chain);
    EXPECT_EQ(after[0].dtype, made.dtype);
    ASSERT_EQ(after[0].shape.rank(), made.shape.rank());
    for (size_t i = 0; i < made.shape.rank(); ++i) {
      if (after[0].shape[i] != Shape::kUnknown) {
        EXPECT_EQ(after[0].shape[i], made.shape[i]) << after[0].to_string();
      }
    }
  }
}

TEST(lazy_image, planar_and_interleaved_pixels_give_the_same) {
  const Tensor source = picture(40, 30, 3);
  const Tensor planar = run_picture(source, {step("layout", {{"order", "chw"}})});
  Field field = tensor_field("image", DType::kUint8, planar.shape);
  field.channels_first = true;
  Record record = record_of(planar);
  const OpSpec resize = step("resize", {{"size", 17}});
  ASSERT_TRUE(run(Schema({field}), {resize, step("layout", {{"order", "hwc"}})}, record).ok());
  EXPECT_EQ(blob(record[0].tensor), blob(run_picture(source, {resize})));
}

TEST(lazy_image, memory_is_reserved_before_it_is_taken) {
  auto image = LazyImage::of_pixels(picture(300, 300, 3), false);
  ASSERT_TRUE(image.ok());
  WorkMemory unlimited;
  ASSERT_TRUE((*image)->resize(64, 64, Interpolation::kBilinear, unlimited).ok());
  const uint64_t needed = (*image)->working_bytes();
  Blob out(64 * 64 * 3);
  WorkMemory too_small(needed - 1), enough(needed);
  const Status refused = (*image)->write(out, too_small);
  EXPECT_EQ(refused.code(), Code::kOutOfBudget);
  EXPECT_EQ(refused.bytes_needed(), needed);
  EXPECT_TRUE((*image)->write(out, enough).ok());
  EXPECT_EQ(enough.reserved(), 0u);
  // A few rows, not the picture.
  EXPECT_LT(needed, 300u * 300u * 3u / 2u);
}

TEST(lazy_image, the_source_is_never_changed) {
  const Tensor source = picture(20, 20, 3);
  const Blob before = blob(source);
  run_picture(source, {step("color_jitter", {{"brightness", {0.1, 0.1}}})});
  EXPECT_EQ(blob(source), before);
}

TEST(lazy_image, what_is_no_picture_is_refused) {
  for (const Shape& shape : {Shape{4}, Shape{4, 4, 5}, Shape{0, 4, 3}, Shape{1, 2, 3, 4}}) {
    EXPECT_EQ(LazyImage::of_pixels(Tensor::allocate(DType::kUint8, shape), false).status().code(), Code::kUnsupported);
  }
}

// Photographs as stored upright and rotated give the same picture, whatever part is decoded.
TEST(lazy_image, oriented_photographs_equal_their_upright_pixels) {
  const auto data = shared_data();
  if (data.empty()) GTEST_SKIP() << "SHARED DATA ABSENT: photographs with EXIF orientation are not tested";
  const auto folder = data / "images/exif-orientation/jpeg";
  int photographs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".jpg") continue;
    ++photographs;
    const Blob bytes = bytes_of(entry.path());
    const Schema schema({bytes_field("image")});
    const OpSpec decode = step("decode_image");
    Record whole;
    whole.push_back(encoded(bytes));
    ASSERT_TRUE(run(schema, {decode}, whole).ok());
    for (const OpSpec& next : {step("center_crop", {{"n", {100, 77}}}), step("random_resized_crop", {{"n", 48}})}) {
      Record record;
      record.push_back(encoded(bytes));
      ASSERT_TRUE(run(schema, {decode, next, step("random_flip", {{"p", 1}})}, record).ok());
      EXPECT_EQ(blob(record[0].tensor), blob(run_picture(whole[0].tensor, {next, step("random_flip", {{"p", 1}})})))
          << entry.path();
    }
  }
  EXPECT_GT(photographs, 5);
}

TEST(lazy_image, a_photograph_cut_short_is_an_error_of_decode_image) {
  const auto data = shared_data();
  if (data.empty()) GTEST_SKIP() << "SHARED DATA ABSENT: a cut photograph is not tested";
  Blob bytes = bytes_of(data / "detection/coco_dummy/images/1.jpeg");
  bytes.resize(bytes.size() / 2);
  Record record;
  record.push_back(encoded(bytes));
  const Status status =
      run(Schema({bytes_field("image")}), {step("decode_image"), step("resize", {{"size", 32}})}, record);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.op(), "decode_image");
}

TEST(lazy_image, photographs_fused_equal_unfused_at_every_simd_level) {
  const auto data = shared_data();
  if (data.empty()) GTEST_SKIP() << "SHARED DATA ABSENT: photographs are not tested";
  const Schema schema({bytes_field("image")});
  const std::vector<OpSpec> steps = {step("decode_image"), step("random_resized_crop", {{"n", 224}}),
                                     step("random_flip"), step("normalize", {{"mean", kMean}, {"std", kStd}})};
  int64_t id = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data / "detection/coco_dummy/images")) {
    if (entry.path().extension() != ".jpeg" || id == 12) continue;
    const Blob bytes = bytes_of(entry.path());
    Blob expected;
    for (const bool materialize_each : {true, false}) {
      for (const SimdLevel level : simd_levels()) {
        set_simd_level(level);
        Record record;
        record.push_back(encoded(bytes));
        const RunOptions options = {.key = {.seed = 7, .epoch = 1, .id = id}, .materialize_each = materialize_each};
        ASSERT_TRUE(run(schema, steps, record, options).ok());
        if (expected.empty()) expected = blob(record[0].tensor);
        EXPECT_EQ(blob(record[0].tensor), expected) << entry.path() << simd_level_name(level);
      }
    }
    ++id;
  }
  set_simd_level(best_simd_level());
  EXPECT_EQ(id, 12);
}

}  // namespace
}  // namespace forebay::ops_test
