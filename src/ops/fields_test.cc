// Tests decode_image, normalize, layout, cast, select, rename, pad, and the operators that the
// loader carries out.

#include <gtest/gtest.h>

#include <cmath>

#include "ops/missing_fields.h"
#include "ops/ops_test_support.h"

namespace forebay::ops_test {
namespace {

const Schema kPhotos({bytes_field("image"), tensor_field("label", DType::kInt64, {}), bytes_field("key")});

std::string told(const Schema& schema, const std::vector<OpSpec>& steps) {
  std::string text;
  for (const Problem& problem : problems_of_pipeline(schema, steps))
    text += problem.message + " | " + problem.remedy + "\n";
  return text;
}

bool tells(const Schema& schema, const std::vector<OpSpec>& steps, const char* what) {
  const std::string text = told(schema, steps);
  EXPECT_NE(text.find(what), std::string::npos) << text;
  return text.find(what) != std::string::npos;
}

TEST(normalize, is_the_formula_channels_first) {
  const Tensor source = picture(3, 5, 3);
  const Tensor made =
      run_picture(source, {step("normalize", {{"mean", {0.485, 0.456, 0.406}}, {"std", {0.229, 0.224, 0.225}}})});
  ASSERT_EQ(made.shape, (Shape{3, 3, 5}));
  const double mean[] = {0.485, 0.456, 0.406}, deviation[] = {0.229, 0.224, 0.225};
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < 15; ++i) {
      const double expected = (source.data<uint8_t>()[3 * i + c] / 255.0 - mean[c]) / deviation[c];
      EXPECT_NEAR(made.data<float>()[15 * c + i], expected, 1e-6);
    }
  }
}

TEST(normalize, keeps_a_chosen_layout_and_takes_one_number_for_all) {
  const Tensor made =
      run_picture(picture(3, 5, 3), {step("layout", {{"order", "hwc"}}), step("normalize", {{"mean", 0}, {"std", 1}})});
  ASSERT_EQ(made.shape, (Shape{3, 5, 3}));
  EXPECT_FLOAT_EQ(made.data<float>()[4], picture(3, 5, 3).data<uint8_t>()[4] / 255.0f);
}

TEST(normalize, gives_pictures_of_two_axes_a_channel) {
  Record record = record_of(Tensor::allocate(DType::kUint8, {28, 28}));
  const Schema schema({tensor_field("image", DType::kUint8, {28, 28})});
  const OpSpec spec = step("normalize", {{"mean", 0.13}, {"std", 0.31}});
  ASSERT_TRUE(run(schema, {spec}, record).ok());
  EXPECT_EQ(record[0].tensor.shape, (Shape{1, 28, 28}));
  EXPECT_EQ(schema_after(schema, {spec})[0].shape, (Shape{1, 28, 28}));
}

TEST(normalize, misuse_is_told) {
  const Schema schema({picture_field()});
  const OpSpec good = step("normalize", {{"mean", 0.5}, {"std", 0.5}});
  EXPECT_TRUE(tells(schema, {step("normalize", {{"mean", {0.5, 0.5}}, {"std", 0.5}})},
                    "mean has 2 numbers and the field 'image' has 3"));
  EXPECT_TRUE(tells(schema, {step("normalize", {{"mean", 0.5}, {"std", 0}})}, "above 0"));
  EXPECT_TRUE(tells(schema, {step("normalize", {{"std", 0.5}})}, "mean is missing"));
  EXPECT_TRUE(tells(schema, {good, good}, "normalized already"));
  EXPECT_TRUE(tells(schema, {good, step("resize", {{"size", 8}})}, "put .normalize after it"));
  EXPECT_TRUE(tells(schema, {good, step("color_jitter", {{"hue", 0.1}})}, "put .color_jitter before .normalize"));
  EXPECT_TRUE(tells(kPhotos, {good}, "put .decode_image() before .normalize"));
}

TEST(decode_image, makes_image_of_image_or_bytes) {
  const Schema after =
      schema_after(Schema({bytes_field("bytes"), bytes_field("key")}), {step("decode_image", {{"mode", "gray"}})});
  EXPECT_EQ(after[0].to_string(), "image: uint8 (?, ?, 1)");
  EXPECT_EQ(schema_after(kPhotos, {step("decode_image", {{"field", Json::array()}})})[0].to_string(),
            "image: uint8 (?, ?, 3)");
  EXPECT_EQ(schema_after(Schema({bytes_field("left")}), {step("decode_image", {{"field", "left"}})})[0].name, "left");
}

TEST(decode_image, misuse_is_told) {
  const OpSpec decode = step("decode_image");
  EXPECT_TRUE(tells(kPhotos, {decode, decode}, "decoded already"));
  EXPECT_TRUE(
      tells(Schema({tensor_field("x", DType::kFloat32, {4})}), {decode}, "no encoded field 'image' or 'bytes'"));
  EXPECT_TRUE(tells(kPhotos, {step("decode_image", {{"mode", "bgr"}})}, "unknown mode 'bgr'"));
  EXPECT_TRUE(tells(kPhotos, {step("decode_image", {{"field", "label"}})}, "decoded already"));
}

TEST(decode_image, refuses_by_the_header_alone) {
  // The first bytes of a BMP of 20,000 × 20,000 pixels.
  Blob head = {'B', 'M', 0, 0,    0,    0, 0, 0,    0,    0, 54, 0, 0, 0,  40,
               0,   0,   0, 0x20, 0x4e, 0, 0, 0x20, 0x4e, 0, 0,  1, 0, 24, 0};
  head.resize(54);
  Record record;
  record.push_back(encoded(head));
  const Status status = run(Schema({bytes_field("image")}), {step("decode_image")}, record, {.grant = 0});
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(status.op(), "decode_image");
  EXPECT_NE(status.message().find("max_pixels=100000000"), std::string::npos) << status.message();
  Record rubbish;
  rubbish.push_back(encoded({1, 2, 3}));
  EXPECT_FALSE(run(Schema({bytes_field("image")}), {step("decode_image")}, rubbish).ok());
}

TEST(layout, moves_the_channels) {
  const Tensor source = picture(2, 3, 3);
  const Tensor planar = run_picture(source, {step("layout", {{"order", "chw"}})});
  ASSERT_EQ(planar.shape, (Shape{3, 2, 3}));
  EXPECT_EQ(planar.data<uint8_t>()[6], source.data<uint8_t>()[1]);
  EXPECT_TRUE(tells(Schema({picture_field()}), {step("layout", {{"order", "nchw"}})}, "unknown layout 'nchw'"));
}

TEST(cast, works_on_any_field) {
  Tensor label = Tensor::allocate(DType::kInt64, {});
  *label.data<int64_t>() = 300;
  Record record = record_of(label);
  const Schema schema({tensor_field("label", DType::kInt64, {})});
  Record bad = record_of(label);
  const Status status = run(schema, {step("cast", {{"dtype", "uint8"}, {"field", "label"}})}, bad);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_EQ(status.message().find("the field 'label' has 300, and uint8 goes from 0 to 255; cast to"), 0u)
      << status.message();
  const Json saturate = {{"dtype", "uint8"}, {"field", "label"}, {"errors", "saturate"}};
  ASSERT_TRUE(run(schema, {step("cast", saturate)}, record).ok());
  EXPECT_EQ(record[0].tensor.dtype, DType::kUint8);
  EXPECT_EQ(record[0].tensor.data<uint8_t>()[0], 255);
  EXPECT_TRUE(tells(kPhotos, {step("cast", {{"dtype", "float23"}})}, "dtype is \"float23\""));
  EXPECT_TRUE(tells(kPhotos, {step("cast", {{"dtype", "uint8"}})}, "put .decode_image() before .cast"));
  EXPECT_TRUE(tells(schema, {step("cast", {{"dtype", "uint8"}, {"field", "label"}, {"errors", "ignore"}})},
                    "give \"raise\" or \"saturate\""));
}

// The check covers the whole picture, even if later steps crop it or earlier steps have not run
// yet.
TEST(cast, of_a_picture_looks_at_all_of_it) {
  Tensor pixels = picture(4, 5, 3);
  std::fill_n(pixels.data<uint8_t>(), pixels.nbytes(), uint8_t{127});
  const Schema schema({picture_field()});
  const OpSpec crop = step("center_crop", {{"n", {2, 1}}});
  const auto outcome = [&](std::vector<OpSpec> steps) {
    Record record = record_of(pixels);
    return run(schema, steps, record).message().substr(0, 40);
  };
  const OpSpec to_int8 = step("cast", {{"dtype", "int8"}});
  EXPECT_EQ(outcome({to_int8, crop}), "");
  pixels.data<uint8_t>()[0] = 128;
  EXPECT_EQ(outcome({to_int8, crop}), "the field 'image' has 128 at element 0, ");
  EXPECT_EQ(outcome({crop, to_int8}), "");
  EXPECT_EQ(outcome({step("cast", {{"dtype", "int8"}, {"errors", "saturate"}})}), "");
  EXPECT_EQ(outcome({step("normalize", {{"mean", 0.498}, {"std", 0.00784}}), step("cast", {{"dtype", "uint8"}})}), "");
  EXPECT_EQ(outcome({step("normalize", {{"mean", 0.6}, {"std", 0.001}}), step("cast", {{"dtype", "uint8"}})})
                .find("the field 'image' has -"),
            0u);
}

TEST(select, keeps_fields_in_their_order) {
  Record record;
  for (int i = 0; i < 3; ++i) record.push_back(encoded({static_cast<uint8_t>(i)}));
  const Schema schema({bytes_field("a"), bytes_field("b"), bytes_field("c")});
  const OpSpec spec = step("select", {{"fields", {"c", "a"}}});
  ASSERT_TRUE(run(schema, {spec}, record).ok());
  ASSERT_EQ(record.size(), 2u);
  EXPECT_EQ(record[0].bytes.data()[0], 0);
  EXPECT_EQ(record[1].bytes.data()[0], 2);
  EXPECT_EQ(schema_after(schema, {spec}).names(), "a, c");
  EXPECT_TRUE(tells(schema, {step("select", {{"fields", {"a", "d"}}})}, "there is no field 'd'"));
}

TEST(rename, changes_all_names_at_once) {
  const Schema schema({bytes_field("a"), bytes_field("b")});
  EXPECT_EQ(schema_after(schema, {step("rename", {{"names", {{"a", "b"}, {"b", "a"}}}})}).names(), "b, a");
  EXPECT_TRUE(tells(schema, {step("rename", {{"names", {{"a", "b"}}}})}, "two fields would be called 'b'"));
  EXPECT_TRUE(tells(schema, {step("rename", {{"names", {{"aa", "c"}}}})}, "did you mean 'a'?"));
  EXPECT_TRUE(tells(schema, {step("rename", {{"names", 3}})}, "give {\"old name\": \"new name\"}"));
}

TEST(pad, marks_the_field_and_refuses_longer_rows) {
  const Schema schema({tensor_field("tokens", DType::kInt32, {Shape::kUnknown})});
  const OpSpec pad = step("pad", {{"field", "tokens"}, {"value", -1}, {"length", 4}});
  const Schema after = schema_after(schema, {pad});
  EXPECT_EQ(after[0].pad_value, -1.0);
  EXPECT_EQ(after[0].pad_length, 4);
  Record fits = record_of(Tensor::allocate(DType::kInt32, {4})),
         longer = record_of(Tensor::allocate(DType::kInt32, {5}));
  EXPECT_TRUE(run(schema, {pad}, fits).ok());
  const Status status = run(schema, {pad}, longer);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("has 5 elements, more than length=4"), std::string::npos);
  EXPECT_TRUE(tells(schema, {step("pad", {{"field", "tokens"}, {"value", 0.5}})}, "a int32 cannot hold the value 0.5"));
  EXPECT_TRUE(
      tells(Schema({picture_field()}), {step("pad", {{"field", "image"}, {"value", 0}})}, "no rows of numbers"));
}

TEST(batch, needs_one_shape_and_comes_once) {
  const OpSpec decode = step("decode_image"), batch = step("batch", {{"n", 8}});
  EXPECT_TRUE(tells(kPhotos, {decode, batch}, "put .resize(size), .center_crop or .random_resized_crop before .batch"));
  EXPECT_EQ(told(kPhotos, {decode, step("center_crop", {{"n", 8}}), batch}), "");
  EXPECT_EQ(told(kPhotos, {decode, step("batch", {{"n", 1}})}), "");
  EXPECT_EQ(told(kPhotos, {batch}), "");
  EXPECT_EQ(told(Schema({tensor_field("tokens", DType::kInt32, {Shape::kUnknown})}), {batch}), "");
  EXPECT_TRUE(tells(kPhotos, {step("batch", {{"n", 0}, {"last", "keep"}})}, "unknown last \"keep\""));
}

TEST(shuffle_and_take, check_their_arguments) {
  EXPECT_EQ(told(kPhotos, {step("take", {{"n", 5}}), step("shuffle")}), "");
  EXPECT_EQ(told(kPhotos, {step("shuffle", {{"block", nullptr}})}), "");
  EXPECT_TRUE(tells(kPhotos, {step("shuffle", {{"lanes", 0}})}, "lanes is 0"));
  EXPECT_TRUE(tells(kPhotos, {step("take", {{"n", 2.5}})}, "a whole number"));
}

TEST(repeat, takes_any_number_above_0) {
  EXPECT_EQ(told(kPhotos, {step("repeat", {{"n", 0.25}})}), "");
  EXPECT_EQ(told(kPhotos, {step("repeat", {{"n", 3}})}), "");
  for (const Json& wrong : std::vector<Json>{0, -1, 0.0, std::nan(""), INFINITY})
    EXPECT_TRUE(tells(kPhotos, {step("repeat", {{"n", wrong}})}, "a number above 0")) << wrong;
  EXPECT_TRUE(tells(kPhotos, {step("repeat")}, "n is missing"));
  EXPECT_EQ(schema_after(kPhotos, {step("repeat", {{"n", 2}})}).names(), kPhotos.names());
}

TEST(fill_missing, takes_only_fields_as_mixes_write_them) {
  const Json good = json_of_field(tensor_field("box", DType::kFloat64, {4, Shape::kUnknown}));
  EXPECT_EQ(told(kPhotos, {step("fill_missing", {{"fields", {good}}, {"valid", {{"box_valid", true}}}})}), "");
  Field unknown;
  unknown.name = "made";
  unknown.kind = FieldKind::kAny;
  EXPECT_TRUE(field_of_json(json_of_field(unknown))) << "its type is not known before the source is open";
  const auto with = [&](const char* name, Json value) {
    Json field = good;
    field[name] = std::move(value);
    return field;
  };
  for (const Json& wrong :
       {Json(), Json(3), Json::object(), with("kind", 6), with("kind", -1), with("kind", "text"), with("dtype", "word"),
        with("shape", {-2}), with("shape", 7), with("shape", std::vector<int64_t>(9, 1)),
        with("shape", {int64_t{1} << 40, int64_t{1} << 40}), with("sound", 9), with("image", "yes")}) {
    EXPECT_FALSE(field_of_json(wrong)) << wrong;
    EXPECT_TRUE(tells(kPhotos, {step("fill_missing", {{"fields", Json::array({wrong})}})}, "not as mixes write them"));
  }
  for (const Json& wrong : {Json(3), Json::array({1}), Json{{"box_valid", 1}}})
    EXPECT_TRUE(tells(kPhotos, {step("fill_missing", {{"valid", wrong}})}, "not as mixes write them")) << wrong;
}

TEST(fill_missing, makes_zeros_and_bools_in_samples_and_in_columns) {
  const Schema schema({tensor_field("x", DType::kFloat32, {})});
  Field rows = tensor_field("rows", DType::kInt16, {Shape::kUnknown}), text = bytes_field("text");
  text.kind = FieldKind::kText;
  text.fetched = false;
  const std::vector<Field> missing{tensor_field("box", DType::kFloat64, {4}), rows, text};
  Json fields = Json::array();
  for (const Field& field : missing) {
    fields.push_back(json_of_field(field));
    EXPECT_EQ(field_of_json(fields.back()).value().to_string(), field.to_string());
    EXPECT_EQ(no_zeros(field), std::nullopt);
  }
  const OpSpec fill = step("fill_missing", {{"fields", fields}, {"valid", {{"box_valid", false}, {"x_valid", true}}}});
  EXPECT_EQ(schema_after(schema, {fill}).to_string(),
            "x: float32 (), box: float64 (4,), rows: int16 (?,), text: text, box_valid: bool (), x_valid: bool ()");
  Record record = record_of(Tensor::allocate(DType::kFloat32, {}));
  ASSERT_TRUE(run(schema, {fill}, record).ok());
  ASSERT_EQ(record.size(), 6u);
  EXPECT_EQ(record[1].tensor.data<double>()[3], 0);
  EXPECT_EQ(record[2].tensor.shape, (Shape{0}));
  EXPECT_EQ(*record[5].tensor.buffer.data(), 1);

  const auto compiled = op("fill_missing").compile_columns(fill, schema);
  ASSERT_TRUE(compiled.ok());
  Columns columns{schema, 3, {{Buffer::allocate(12), {}}}};
  WorkMemory memory(1000);
  ASSERT_TRUE((*compiled)->apply(columns, memory).ok());
  ASSERT_TRUE(columns.check().ok()) << columns.check().message();
  EXPECT_EQ(columns.value(1, 2).tensor.data<double>()[3], 0);
  EXPECT_EQ(columns.value(2, 1).tensor.shape, (Shape{0}));
  EXPECT_EQ(*columns.value(5, 2).tensor.buffer.data(), 1);
  EXPECT_TRUE(no_zeros(tensor_field("image", DType::kUint8, {Shape::kUnknown, Shape::kUnknown, 3})));
  EXPECT_TRUE(tells(schema, {step("fill_missing", {{"valid", {{"x", true}}}})}, "there is a field 'x' already"));
}

TEST(part_number, is_a_field_with_one_value_in_samples_and_in_columns) {
  const Schema schema({tensor_field("x", DType::kFloat32, {})});
  const OpSpec number = step("part_number", {{"field", "part"}, {"value", 7}});
  EXPECT_EQ(schema_after(schema, {number})[1].to_string(), "part: int64 ()");
  Record record = record_of(Tensor::allocate(DType::kFloat32, {}));
  ASSERT_TRUE(run(schema, {number}, record).ok());
  EXPECT_EQ(*record[1].tensor.data<int64_t>(), 7);

  const auto compiled = op("part_number").compile_columns(number, schema);
  ASSERT_TRUE(compiled.ok());
  Columns columns{schema, 3, {{Buffer::allocate(12), {}}}};
  WorkMemory memory(1000);
  ASSERT_TRUE((*compiled)->apply(columns, memory).ok());
  ASSERT_TRUE(columns.check().ok()) << columns.check().message();
  EXPECT_EQ(*columns.value(1, 2).tensor.data<int64_t>(), 7);
  WorkMemory none(0);
  EXPECT_EQ((*compiled)->apply(columns, none).code(), Code::kOutOfBudget);
  EXPECT_TRUE(tells(schema, {step("part_number", {{"field", "x"}, {"value", 0}})}, "there is a field 'x' already"));
  EXPECT_TRUE(tells(schema, {step("part_number", {{"field", ""}, {"value", 0}})}, "field is empty"));
}

TEST(all_ops, are_named_once_and_explained) {
  std::vector<std::string> names;
  for (const OpDef& def : all_ops()) {
    names.push_back(def.name);
    EXPECT_FALSE(def.help.empty()) << def.name;
    for (const ArgDef& arg : def.args) EXPECT_FALSE(arg.help.empty()) << def.name << " " << arg.name;
  }
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

// One mistake is one problem, and all mistakes are found at once.
TEST(all_ops, list_every_problem_of_a_pipeline_once) {
  const auto problems =
      problems_of(kPhotos, {step("decode_image", {{"mode", 3}}), step("random_resized_crop", {{"n", "big"}}),
                            step("random_flip", {{"p", 2}}), step("normalize", {{"mean", 0.5}, {"std", 0.5}}),
                            step("batch", {{"n", 0}})});
  EXPECT_EQ(problems.size(), 4u);
}

}  // namespace
}  // namespace forebay::ops_test
