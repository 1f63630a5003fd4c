#include "loader/describe/parted_source.h"

#include <gtest/gtest.h>

#include "forebay/pipeline.h"
#include "loader/describe/check.h"
#include "loader/describe/open_source.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"

namespace forebay {
namespace {

Pipeline counted(int64_t n, const char* field = "x") {
  Array array;
  array.values = Tensor::allocate(DType::kInt64, {n});
  for (int64_t i = 0; i < n; ++i) array.values.data<int64_t>()[i] = i;
  return arrays({{field, array}});
}

std::shared_ptr<const Source> opened_source(const Pipeline& pipeline) {
  auto source = open_source(pipeline.description().steps().front(), OpenSourceOptions());
  EXPECT_TRUE(source.ok()) << source.status().to_string();
  return source.ok() ? *source : nullptr;
}

TEST(PartedSource, has_the_samples_of_its_branches_one_after_the_other) {
  const auto source =
      opened_source(mix({{"a", counted(3)}, {"b", concat({counted(0), counted(2)})}, {"c", counted(4)}}));
  const PartedSource* const parted = as_parted(*source);
  ASSERT_NE(parted, nullptr);
  EXPECT_EQ(source->as_samples(), nullptr);
  EXPECT_EQ(source->as_chunks(), nullptr);
  ASSERT_EQ(parted->branch_sources().size(), 4u) << "parts within parts are resolved";
  EXPECT_EQ(parted->branch_sources()[2]->size(), 2);
  EXPECT_EQ(source->size(), 9);
  const auto& branches = parted->branch_sources();
  EXPECT_EQ(source->key(2), branches[0]->key(2));
  EXPECT_EQ(source->key(3), branches[2]->key(0)) << "that of the empty branch is no sample";
  EXPECT_EQ(source->key(8), branches[3]->key(3));
  EXPECT_EQ(source->schema().to_string(), branches[0]->schema().to_string());
  EXPECT_TRUE(source->check_intact().ok());
}

TEST(PartedSource, has_an_open_ended_schema_if_its_branches_differ) {
  EXPECT_FALSE(opened_source(concat({counted(3), counted(4)}))->schema().open_ended);
  EXPECT_TRUE(opened_source(concat({counted(3), counted(4, "y")}))->schema().open_ended);
}

TEST(PartedSource, has_a_version_of_names_and_versions_in_order) {
  const Hash128 version = opened_source(mix({{"a", counted(3)}, {"b", counted(4)}}))->version();
  EXPECT_EQ(opened_source(mix({{"a", counted(3)}, {"b", counted(4)}}, {.weights = {{"a", 1}, {"b", 2}}}))->version(),
            version)
      << "weights are not data";
  EXPECT_FALSE(opened_source(mix({{"b", counted(4)}, {"a", counted(3)}}))->version() == version);
  EXPECT_FALSE(opened_source(mix({{"c", counted(3)}, {"b", counted(4)}}))->version() == version);
  EXPECT_FALSE(opened_source(mix({{"a", counted(3)}, {"b", counted(5)}}))->version() == version);
  EXPECT_FALSE(opened_source(mix({{"a", concat({counted(3)})}, {"b", counted(4)}}))->version() == version);
}

TEST(PartedSource, may_get_another_source_for_a_branch) {
  const auto source = opened_source(mix({{"a", counted(3)}, {"b", counted(4)}, {"c", counted(2)}}));
  const auto* parts = as_parted(*source);
  const auto other = parts->with_branch(1, opened_source(counted(6)));
  EXPECT_EQ(other->size(), 11);
  EXPECT_EQ(other->key(9), other->branch_sources()[2]->key(0));
  EXPECT_EQ(parts->size(), 9);
}

TEST(PartedSource, is_checked_with_the_fields_of_each_branch) {
  const Pipeline pipeline = mix({{"a", counted(3)}, {"b", counted(4, "y")}}).select({"x"}).batch(2);
  const auto source = opened_source(pipeline);
  const std::vector<Problem> problems = check(pipeline.description(), *source);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].op, "1: select");
  EXPECT_NE(problems[0].message.find("(in 'b')"), std::string::npos) << problems[0].message;
  EXPECT_TRUE(
      check(concat({counted(3), counted(4)}).batch(2).description(), *opened_source(concat({counted(3), counted(4)})))
          .empty());
}

TEST(PartedSource, of_parts_that_cannot_be_opened_is_not_opened) {
  EXPECT_EQ(open_source(mix({{"a", counted(3)}, {"b", files("nowhere/*.bin")}}).description().steps().front(), {})
                .status()
                .code(),
            Code::kNotFound);
  EXPECT_EQ(open_source(mix({{"a", Pipeline()}}).description().steps().front(), {}).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
