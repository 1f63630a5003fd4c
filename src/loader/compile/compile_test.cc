#include "loader/compile/compile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "forebay/forebay.h"
#include "forebay/ledger.h"
#include "loader/describe/check.h"
#include "loader/describe/open_source.h"
#include "pipeline/op_spec.h"
#include "pipeline/selection.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

// Three broken pictures, which fail when they are read.
struct Pictures {
  Pictures() {
    for (const char* name : {"a/1.jpg", "a/2.jpg", "b/3.jpg"}) folder.write(name, "\xff\xd8\xff no picture");
  }
  Pipeline images() const { return forebay::images(folder.path()); }
  ScratchFolder folder;
};

std::shared_ptr<const BranchPlan> compiled(const Pipeline& pipeline) {
  const Description& description = pipeline.description();
  const auto source = open_source(description.steps().front(), {});
  EXPECT_TRUE(source.ok()) << source.status().to_string();
  const auto plan =
      compile({&description, description.steps().size(), false, *source, first_samples((*source)->size()), 1});
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  return *plan;
}

std::vector<std::string> native_ops(const BranchPlan& plan) {
  std::vector<std::string> names;
  for (const Stage& stage : plan.stages) {
    if (const auto* native = std::get_if<NativeStage>(&stage)) {
      for (const NativeOp& op : native->ops) names.push_back(op.name);
    }
  }
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Compile, unwanted_fields_are_neither_read_nor_decoded) {
  const Pictures pictures;
  const Pipeline pipeline =
      pictures.images().decode_image().random_resized_crop(8).normalize(imagenet()).select({"label", "key"}).batch(2);
  const auto plan = compiled(pipeline);
  EXPECT_FALSE(plan->fetches);
  const std::vector<std::string> ops = native_ops(*plan);
  for (const char* dropped : {"decode_image", "random_resized_crop", "normalize"})
    EXPECT_FALSE(has(ops, dropped)) << dropped;
  ASSERT_EQ(plan->outputs.size(), 2u);

  Result<std::unique_ptr<Loader>> loader = Loader::open(pipeline);
  ASSERT_TRUE(loader.ok()) << loader.status().to_string();
  int64_t samples = 0;
  while (true) {
    const Result<std::optional<Batch>> batch = (*loader)->next();
    ASSERT_TRUE(batch.ok()) << batch.status().to_string();
    if (!*batch) break;
    samples += (*batch)->size();
  }
  EXPECT_EQ(samples, 3);
  for (const StepStats& step : (*loader)->stats().steps) EXPECT_NE(step.name, "fetch");
  EXPECT_TRUE((*loader)->stats().stores.empty());
}

TEST(Compile, wanted_fields_are_read_and_decoded) {
  const Pictures pictures;
  const auto plan = compiled(pictures.images().decode_image().random_resized_crop(8).select({"image"}).batch(2));
  EXPECT_TRUE(plan->fetches);
  EXPECT_TRUE(has(native_ops(*plan), "random_resized_crop"));
  EXPECT_EQ(plan->outputs[0].row_bytes, 8u * 8 * 3);
}

TEST(Compile, renamed_fields_are_followed_also_when_two_change_places) {
  std::map<std::string, Array> fields;
  for (const char* name : {"a", "b"}) {
    Tensor values = Tensor::allocate(DType::kUint8, {4, 2});
    std::memset(values.buffer.data(), name[0], values.nbytes());
    fields[name] = {std::move(values), ""};
  }
  // After the renaming, `b` holds the values of `a`, and only that one is cast.
  for (const char* kept : {"a", "b"}) {
    const Pipeline pipeline = arrays(fields)
                                  .cast("int32", {.field = {std::string(kept) == "a" ? "b" : "a"}})
                                  .rename({{"a", "b"}, {"b", "a"}})
                                  .select({kept})
                                  .batch(4);
    Result<std::unique_ptr<Loader>> loader = Loader::open(pipeline);
    ASSERT_TRUE(loader.ok()) << loader.status().to_string();
    const Result<std::optional<Batch>> batch = (*loader)->next();
    ASSERT_TRUE(batch.ok()) << batch.status().to_string();
    const BatchField* field = (*batch)->find(kept);
    ASSERT_NE(field, nullptr);
    EXPECT_EQ(field->values.dtype, DType::kInt32);
    EXPECT_EQ(field->values.data<int32_t>()[0], std::string(kept) == "a" ? 'b' : 'a');
  }
}

// In each pipeline an earlier step, which is not needed, renames a field out of the way of a later
// one.
TEST(Compile, names_of_unwanted_fields_are_reused) {
  std::map<std::string, Array> fields;
  for (const char* name : {"a", "b", "c"}) {
    Tensor values = Tensor::allocate(DType::kUint8, {4});
    std::memset(values.buffer.data(), name[0], values.nbytes());
    fields[name] = {std::move(values), ""};
  }
  const Pipeline pipelines[] = {
      arrays(fields).rename({{"c", "e"}}).rename({{"a", "b"}, {"b", "c"}}).select({"b"}).batch(4),
      arrays(fields).stack({"b", "c"}, "x").rename({{"a", "b"}}).rename({{"b", "c"}}).select({"c"}).batch(4),
      arrays(fields)
          .rename({{"a", "b"}, {"b", "c"}, {"c", "a"}})
          .rename({{"b", "a"}, {"a", "b"}})
          .select({"a"})
          .batch(4)};
  for (const Pipeline& pipeline : pipelines) {
    SCOPED_TRACE(pipeline.to_string());
    Result<std::unique_ptr<Loader>> loader = Loader::open(pipeline);
    ASSERT_TRUE(loader.ok()) << loader.status().to_string();
    const Result<std::optional<Batch>> batch = (*loader)->next();
    ASSERT_TRUE(batch.ok() && *batch) << batch.status().to_string();
    ASSERT_EQ((*batch)->fields.size(), 1u);
    EXPECT_EQ((*batch)->fields[0].values.data<uint8_t>()[3], 'a') << "what was called so in the beginning";
  }
}

TEST(Compile, untouched_fields_of_arrays_are_gathered) {
  Tensor values = Tensor::allocate(DType::kFloat32, {10, 3});
  const auto plan = compiled(arrays({{"x", {values, ""}}}).rename({{"x", "y"}}).select({"y"}).batch(4));
  EXPECT_TRUE(plan->gathers_only());
  EXPECT_FALSE(compiled(arrays({{"x", {values, ""}}}).cast("float16", {.field = {"x"}}).batch(4))->gathers_only());
}

TEST(Compile, problems_are_listed_with_their_remedies) {
  const Status status = problems_as_status({{"1: a", "is wrong", "mend it"}, {"2: b", "too", "drop it"}});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "the pipeline has 2 problems:\n  1: a: is wrong; mend it\n  2: b: too; drop it");
  EXPECT_FALSE(check(Description()).empty());
  EXPECT_FALSE(check(Description({"image", Json::object(), nullptr, ""})).empty());
}

Pipeline columns_and_masks() {
  const auto column = [](DType dtype) { return Array{Tensor::allocate(dtype, {4}), ""}; };
  return arrays({{"a", column(DType::kFloat32)},
                 {"b", column(DType::kFloat32)},
                 {"b_valid", column(DType::kBool)},
                 {"label", column(DType::kInt64)}});
}

TEST(Compile, columns_that_are_stacked_or_filled_are_read_where_somebody_wants_the_result) {
  const Pipeline both =
      columns_and_masks().fill_null(0.0, {"b"}).clip({.min = 0, .field = {"a"}}).stack({"a", "b"}, "x");
  const auto wanted = compiled(both.select({"x"}).batch(2));
  EXPECT_EQ(native_ops(*wanted), (std::vector<std::string>{"fill_null", "clip", "stack", "select"}));
  ASSERT_EQ(wanted->outputs.size(), 1u);
  EXPECT_EQ(wanted->outputs[0].field.shape, (Shape{2}));

  const auto unwanted = compiled(both.select({"label"}).batch(2));
  EXPECT_EQ(native_ops(*unwanted), (std::vector<std::string>{"select"}));
  EXPECT_EQ(unwanted->outputs.size(), 1u);
}

TEST(Compile, stacked_fields_are_not_requested_of_an_open_ended_source) {
  const Pipeline pipeline = manifest("list.csv").stack({"a", "b"}, "x").clip({.min = 0, .field = {"x"}});
  EXPECT_TRUE(pipeline.check().empty());
  EXPECT_TRUE(manifest("list.csv").fill_null(0.0, {"a"}).check().empty());
  const std::vector<Problem> gone =
      manifest("list.csv").stack({"a", "b"}, "x").clip({.min = 0, .field = {"a"}}).check();
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_NE(gone[0].message.find("there is no field 'a'"), std::string::npos) << gone[0].message;
}

// The plans of a mix of these pipelines.
ExecutionPlan compiled_together(const std::vector<Pipeline>& parts) {
  std::vector<CompileInput> inputs;
  for (const Pipeline& part : parts) {
    const Description& description = part.description();
    const auto source = open_source(description.steps().front(), {}).value();
    inputs.push_back({&description, description.steps().size(), false, source, first_samples(source->size()), 1});
    inputs.back().branch = CompileInput::BranchName{std::to_string(inputs.size()), {"text"}};
  }
  auto plan = compile(inputs, {});
  EXPECT_TRUE(plan.ok()) << plan.status().to_string();
  return *std::move(plan);
}

TEST(Compile, texts_of_several_tables_refer_to_chunks_unless_a_part_has_values) {
  const ScratchFolder folder;
  folder.write("lines.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n");
  const Pipeline lines = jsonl(folder.path() + "/lines.jsonl");
  const Pipeline computed = lines.map([](Sample&) { return Status(); });
  const ExecutionPlan of_tables = compiled_together({lines, lines}), of_values = compiled_together({lines, computed});
  for (const auto& branch : of_tables.branches()) EXPECT_TRUE(branch->chunks->gathers_rows);
  for (const auto& branch : of_values.branches()) EXPECT_FALSE(branch->chunks->gathers_rows);
}

}  // namespace
}  // namespace forebay
