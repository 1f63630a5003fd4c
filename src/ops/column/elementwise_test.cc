// Results and messages of cast, normalize, clip, log1p and hash_bucket on columns.

#include <gtest/gtest.h>
#include <xxhash.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "ops/column/column_test_support.h"

namespace forebay::ops_test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

bool tells(const Schema& schema, const OpSpec& spec, const char* what) {
  const std::string text = told(schema, {spec});
  EXPECT_NE(text.find(what), std::string::npos) << text;
  return text.find(what) != std::string::npos;
}

TEST(cast, of_columns_goes_toward_zero_and_ends_at_the_type) {
  Table table(8);
  table.add<float>("x", DType::kFloat32, {2.7f, -2.7f, 0.5f, 1e10f, -1e10f, kNaN, kInf, -kInf});
  const auto to = [&](const char* dtype) {
    return run_columns(table.columns(), {step("cast", {{"dtype", dtype}, {"field", "x"}, {"errors", "saturate"}})});
  };
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max(), kMin = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(values_of<int32_t>(to("int32"), "x"), (std::vector<int32_t>{2, -2, 0, kMax, kMin, 0, kMax, kMin}));
  EXPECT_EQ(values_of<uint8_t>(to("uint8"), "x"), (std::vector<uint8_t>{2, 0, 0, 255, 0, 0, 255, 0}));
  EXPECT_EQ(values_of<int64_t>(to("int64"), "x")[3], int64_t{10'000'000'000});
  EXPECT_EQ(values_of<uint8_t>(to("bool"), "x"), (std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 1, 1}));
}

std::map<int64_t, std::string> bad_rows(const Columns& columns) {
  std::map<int64_t, std::string> texts;
  if (!columns.bad_rows) return texts;
  for (const auto& [row, status] : *columns.bad_rows) {
    EXPECT_EQ(status.code(), Code::kUnsupported);
    EXPECT_EQ(status.op(), "cast");
    texts[row] = status.message().substr(0, status.message().find(';'));
  }
  return texts;
}

TEST(cast, of_columns_makes_rows_bad_that_the_type_cannot_hold) {
  Table table(8);
  table.add<float>("x", DType::kFloat32, {2.7f, -2.7f, 255.9f, 256, kNaN, kInf, -0.9f, 7})
      .add<int16_t>("t", DType::kInt16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, -1, 300}, {2})
      .add_lists<int64_t>("l", DType::kInt64, {{1, 2, 256}, {}, {-5}, {}, {255, -1, 999}, {}, {0}, {}}, 4);
  const auto to_uint8 = [&](const char* field) {
    return run_columns(table.columns(), {step("cast", {{"dtype", "uint8"}, {"field", field}})});
  };
  using Bad = std::map<int64_t, std::string>;
  const std::string end = ", and uint8 goes from 0 to 255";
  EXPECT_EQ(bad_rows(to_uint8("x")), (Bad{{1, "the field 'x' has -2.7" + end},
                                          {3, "the field 'x' has 256" + end},
                                          {4, "the field 'x' has nan" + end},
                                          {5, "the field 'x' has inf" + end}}));
  EXPECT_EQ(values_of<uint8_t>(to_uint8("x"), "x")[2], 255);
  EXPECT_EQ(bad_rows(to_uint8("t")), (Bad{{7, "the field 't' has -1 at element 0" + end}}));
  EXPECT_EQ(bad_rows(to_uint8("l")), (Bad{{0, "the field 'l' has 256 at element 2" + end},
                                          {2, "the field 'l' has -5 at element 0" + end},
                                          {4, "the field 'l' has -1 at element 1" + end}}));
}

TEST(cast, of_columns_leaves_what_was_bad_before) {
  Table table(2);
  table.add<int64_t>("x", DType::kInt64, {300, 300});
  Columns columns = table.columns();
  columns.bad_rows = std::make_shared<const std::map<int64_t, Status>>(
      std::map<int64_t, Status>{{1, Status(Code::kCorrupt, "broken before")}});
  WorkMemory memory;
  const OpSpec spec = step("cast", {{"dtype", "int8"}, {"field", "x"}});
  ASSERT_TRUE((*op("cast").compile_columns(spec, columns.schema))->apply(columns, memory).ok());
  ASSERT_EQ(columns.bad_rows->size(), 2u);
  EXPECT_EQ(columns.bad_rows->at(0).code(), Code::kUnsupported);
  EXPECT_EQ(columns.bad_rows->at(1).message(), "broken before");
}

TEST(cast, takes_lists_and_tensors_and_leaves_the_type_alone_where_it_is_the_same) {
  Table table(3);
  table.add_lists<int64_t>("l", DType::kInt64, {{1, 300}, {}, {-5}}, 4)
      .add<int16_t>("t", DType::kInt16, {1, 2, 3, 4, 5, 6}, {2});
  const Columns made =
      run_columns(table.columns(), {step("cast", {{"dtype", "uint8"}, {"field", {"l", "t"}}, {"errors", "saturate"}})});
  EXPECT_EQ(values_of<uint8_t>(made, "l"), (std::vector<uint8_t>{1, 255, 0}));
  EXPECT_EQ(offsets_of(made, "l"), (std::vector<int64_t>{0, 2, 2, 3}));
  EXPECT_EQ(values_of<uint8_t>(made, "t"), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
  const Columns same = run_columns(table.columns(), {step("cast", {{"dtype", "int16"}, {"field", "t"}})});
  EXPECT_EQ(same.values[1].values.data(), table.columns().values[1].values.data());
}

TEST(normalize, of_columns_is_the_formula_in_float64) {
  Table table(3);
  table.add<float>("a", DType::kFloat32, {0.1f, 2, 3})
      .add<int64_t>("b", DType::kInt64, {1'000'000'007, 5, -5})
      .add_lists<double>("l", DType::kFloat64, {{1, 2}, {}, {3}}, 1);
  const Columns made = run_columns(
      table.columns(), {step("normalize", {{"mean", {0.5, 3, 1}}, {"std", {2, 7, 0.1}}, {"field", {"a", "b", "l"}}})});
  EXPECT_EQ(values_of<float>(made, "a")[0], static_cast<float>((static_cast<double>(0.1f) - 0.5) / 2));
  EXPECT_EQ(values_of<float>(made, "b")[0], static_cast<float>((1'000'000'007.0 - 3) / 7));
  EXPECT_EQ(values_of<float>(made, "l"),
            (std::vector<float>{0, static_cast<float>(1 / 0.1), static_cast<float>(2 / 0.1)}));
  const Columns one =
      run_columns(table.columns(), {step("normalize", {{"mean", 1}, {"std", 2}, {"field", {"a", "b"}}})});
  EXPECT_EQ(values_of<float>(one, "b")[1], 2.0f);
}

TEST(normalize, of_columns_tells_of_misuse) {
  const Schema schema({tensor_field("a", DType::kFloat32, {}), tensor_field("b", DType::kInt64, {}), picture_field(),
                       bytes_field("s")});
  EXPECT_TRUE(tells(schema, step("normalize", {{"mean", {1, 2, 3}}, {"std", 1}, {"field", {"a", "b"}}}),
                    "mean has 3 numbers for 2 columns | give one number or 2"));
  EXPECT_TRUE(tells(schema, step("normalize", {{"mean", 1}, {"std", 1}, {"field", {"a", "image"}}}),
                    "give pictures a .normalize of their own"));
  EXPECT_TRUE(tells(schema, step("normalize", {{"mean", 1}, {"std", 1}, {"field", {"a", "s"}}}), "'s' is bytes"));
  EXPECT_TRUE(tells(schema, step("normalize", {{"mean", 1}, {"std", 0}, {"field", "a"}}), "above 0"));
}

// User code may make pictures or numbers.
TEST(normalize, of_fields_unknown_before_looks_at_the_sample) {
  Field any;
  any.name = "x";
  any.kind = FieldKind::kAny;
  const OpSpec spec = step("normalize", {{"mean", 1}, {"std", 2}, {"field", "x"}});
  Tensor number = Tensor::allocate(DType::kInt32, {});
  *number.data<int32_t>() = 7;
  Record record = record_of(number), image = record_of(picture(2, 2, 3));
  ASSERT_TRUE(run(Schema({any}), {spec}, record).ok());
  EXPECT_EQ(*record[0].tensor.data<float>(), 3.0f);
  ASSERT_TRUE(run(Schema({any}), {spec}, image).ok());
  EXPECT_EQ(image[0].tensor.shape, (Shape{3, 2, 2}));
  Record again = record_of(number);
  const OpSpec three = step("normalize", {{"mean", {1, 2, 3}}, {"std", 2}, {"field", "x"}});
  EXPECT_EQ(run(Schema({any}), {three}, again).code(), Code::kUnsupported);
}

TEST(clip, keeps_type_and_nan) {
  Table table(5);
  table.add<float>("f", DType::kFloat32, {-kInf, -1, 0.25f, kNaN, kInf})
      .add<uint16_t>("h", DType::kFloat16, {0xc000, 0x3c00, 0x7e00, 0x4400, 0x0000})  // -2, 1, NaN, 4, 0
      .add<uint8_t>("u", DType::kUint8, {0, 1, 2, 200, 255})
      .add<int64_t>("i", DType::kInt64, {-9, 0, int64_t{1} << 62, (int64_t{1} << 62) + 1, -1});
  const Columns made = run_columns(table.columns(), {step("clip", {{"min", 0}, {"max", 2}, {"field", {"f", "h", "u"}}}),
                                                     step("clip", {{"max", int64_t{1} << 62}, {"field", "i"}})});
  const std::vector<float> f = values_of<float>(made, "f");
  EXPECT_TRUE(std::isnan(f[3]));
  EXPECT_EQ((std::vector<float>{f[0], f[1], f[2], f[4]}), (std::vector<float>{0, 0, 0.25f, 2}));
  EXPECT_EQ(values_of<uint16_t>(made, "h"), (std::vector<uint16_t>{0x0000, 0x3c00, 0x7e00, 0x4000, 0x0000}));
  EXPECT_EQ(values_of<uint8_t>(made, "u"), (std::vector<uint8_t>{0, 1, 2, 2, 2}));
  EXPECT_EQ(values_of<int64_t>(made, "i"), (std::vector<int64_t>{-9, 0, int64_t{1} << 62, int64_t{1} << 62, -1}));
}

TEST(clip, a_limit_beyond_the_type_does_not_limit) {
  Table table(2);
  table.add<uint8_t>("u", DType::kUint8, {0, 255}).add<uint64_t>("v", DType::kUint64, {0, UINT64_MAX});
  const Columns made =
      run_columns(table.columns(), {step("clip", {{"min", -1}, {"max", 1e30}, {"field", {"u", "v"}}})});
  EXPECT_EQ(values_of<uint8_t>(made, "u"), (std::vector<uint8_t>{0, 255}));
  EXPECT_EQ(values_of<uint64_t>(made, "v"), (std::vector<uint64_t>{0, UINT64_MAX}));
}

TEST(clip, misuse_is_told) {
  const Schema schema({tensor_field("u", DType::kUint8, {}), tensor_field("b", DType::kBool, {}), bytes_field("s")});
  EXPECT_TRUE(tells(schema, step("clip", {{"field", "u"}}), "neither min nor max"));
  EXPECT_TRUE(tells(schema, step("clip", {{"min", 3}, {"max", 2}, {"field", "u"}}), "min is 3 and max is 2"));
  EXPECT_TRUE(tells(schema, step("clip", {{"min", 0.5}, {"field", "u"}}), "min is 0.5, and the field 'u' is uint8"));
  EXPECT_TRUE(tells(schema, step("clip", {{"min", 300}, {"field", "u"}}), "min is 300"));
  EXPECT_TRUE(tells(schema, step("clip", {{"min", 0}, {"field", "b"}}), ".cast(\"uint8\", field=\"b\") before .clip"));
  EXPECT_TRUE(tells(schema, step("clip", {{"min", 0}, {"field", "s"}}), "the field 's' is bytes"));
  EXPECT_TRUE(tells(schema, step("clip", {{"min", 0}, {"field", "nu"}}), "there is no field 'nu'"));
  EXPECT_TRUE(tells(schema, step("clip", {{"min", 0}}), "field is missing"));
}

TEST(log1p, is_right_to_the_last_place_everywhere) {
  std::mt19937_64 random(3);
  std::vector<float> f = {0.0f, -0.0f, 1e-40f, -1e-30f, 1e-9f, 0.41421357f, -0.2928932f, 3.4e38f, -0.99999994f};
  std::vector<double> d = {0.0, 5e-324, -1e-300, 1e-17, -0.9999999999999999, 1.7e308, 0.4142135623730951};
  std::uniform_real_distribution<double> exponent(-60, 60), near(-0.999, 2);
  for (int i = 0; i < 20'000; ++i) {
    const double x = i % 2 == 0 ? std::exp2(exponent(random)) : near(random);
    f.push_back(static_cast<float>(x));
    d.push_back(x);
  }
  f.resize(std::min(f.size(), d.size()));
  d.resize(f.size());
  Table table(static_cast<int64_t>(f.size()));
  table.add<float>("f", DType::kFloat32, f).add<double>("d", DType::kFloat64, d);
  const Columns made = run_columns(table.columns(), {step("log1p", {{"field", {"f", "d"}}})});
  const auto singles = values_of<float>(made, "f");
  const auto doubles = values_of<double>(made, "d");
  for (size_t i = 0; i < f.size(); ++i) {
    const double exact = std::log1p(static_cast<double>(f[i]));
    const float step_up = std::nextafter(std::abs(singles[i]), kInf) - std::abs(singles[i]);
    ASSERT_NEAR(singles[i], exact, step_up) << f[i];
    const long double truth = std::log1p(static_cast<long double>(d[i]));
    const double place = std::nextafter(std::abs(doubles[i]), 1e308) - std::abs(doubles[i]);
    ASSERT_LE(std::abs(static_cast<long double>(doubles[i]) - truth), 2.0L * place) << d[i];
  }
}

TEST(log1p, ends_where_the_logarithm_does) {
  Table table(5);
  table.add<float>("f", DType::kFloat32, {-1, -1.5f, kInf, -kInf, kNaN})
      .add<int8_t>("i", DType::kInt8, {-1, -2, 0, 1, 127});
  const Columns made = run_columns(table.columns(), {step("log1p", {{"field", {"f", "i"}}})});
  const auto f = values_of<float>(made, "f"), i = values_of<float>(made, "i");
  EXPECT_EQ(f[0], -kInf);
  EXPECT_EQ(f[2], kInf);
  for (const float x : {f[1], f[3], f[4], i[1]}) EXPECT_EQ(std::bit_cast<uint32_t>(x), 0x7fc00000u);
  EXPECT_EQ(i[0], -kInf);
  EXPECT_EQ(i[2], 0.0f);
  EXPECT_EQ(i[3], 0.6931472f);
}

TEST(hash_bucket, is_the_stated_definition) {
  Table table(3);
  table.add_texts("t", {"", "café", std::string(5000, 'x')}, FieldKind::kText, 3)
      .add_texts("b", {std::string("\0\xff", 2), "a", ""}, FieldKind::kBytes)
      .add<int32_t>("i", DType::kInt32, {-1, 0, 7})
      .add<uint64_t>("u", DType::kUint64, {UINT64_MAX, 0, 7})
      .add_lists<int16_t>("l", DType::kInt16, {{1, 2}, {}, {1}}, 2);
  const Columns made = run_columns(
      table.columns(), {step("hash_bucket", {{"buckets", 1000}, {"field", {"t", "b", "i", "u", "l"}}, {"salt", 5}})});
  const auto bucket = [](const void* data, size_t size) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<int64_t>((Wide{XXH3_64bits_withSeed(data, size, 5)} * 1000) >> 64);
  };
  const auto of_integer = [&](int64_t x) { return bucket(&x, 8); };
  const auto texts = texts_of(table.columns(), "t");
  for (size_t row = 0; row < 3; ++row)
    EXPECT_EQ(values_of<int64_t>(made, "t")[row], bucket(texts[row].data(), texts[row].size()));
  const std::vector<int64_t> expected = {of_integer(-1), of_integer(0), of_integer(7)};
  EXPECT_EQ(values_of<int64_t>(made, "i"), expected);
  EXPECT_EQ(values_of<int64_t>(made, "u"), expected);
  EXPECT_EQ(values_of<int64_t>(made, "l"), (std::vector<int64_t>{of_integer(1), of_integer(2), of_integer(1)}));
  EXPECT_EQ(offsets_of(made, "l"), (std::vector<int64_t>{0, 2, 2, 3}));
}

TEST(hash_bucket, fills_its_buckets_evenly) {
  std::vector<int64_t> numbers(100'000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  for (const int64_t buckets : {int64_t{1}, int64_t{10}, int64_t{INT64_MAX}}) {
    Table table(static_cast<int64_t>(numbers.size()));
    table.add<int64_t>("i", DType::kInt64, numbers);
    const OpSpec spec = step("hash_bucket", {{"buckets", buckets}, {"field", "i"}});
    Columns columns = table.columns();
    WorkMemory memory;
    ASSERT_TRUE((*op("hash_bucket").compile_columns(spec, columns.schema))->apply(columns, memory).ok());
    std::map<int64_t, int> counts;
    for (const int64_t bucket : values_of<int64_t>(columns, "i")) {
      ASSERT_TRUE(bucket >= 0 && bucket < buckets);
      ++counts[bucket];
    }
    if (buckets != 10) continue;
    for (const auto& [bucket, count] : counts) EXPECT_NEAR(count, 10'000, 500) << bucket;
  }
}

TEST(hash_bucket, misuse_is_told) {
  const Schema schema({tensor_field("f", DType::kFloat32, {}), bytes_field("s")});
  EXPECT_TRUE(tells(schema, step("hash_bucket", {{"buckets", 0}, {"field", "s"}}), "buckets is 0"));
  EXPECT_TRUE(tells(schema, step("hash_bucket", {{"buckets", 9}, {"field", "f"}}),
                    "put .cast(\"int64\", field=\"f\") before .hash_bucket"));
}

}  // namespace
}  // namespace forebay::ops_test
