#include "loader/compile/cache_place.h"

#include <gtest/gtest.h>

#include "forebay/pipeline.h"
#include "loader/describe/check.h"
#include "pipeline/op_spec.h"

namespace forebay {
namespace {

Pipeline decoded() { return images("photos").decode_image(); }

Hash128 place_of(const Pipeline& pipeline) {
  return prefix_identity(pipeline.description(), pipeline.description().steps().size());
}

TEST(PrefixIdentity, DependsOnEveryStepThatChangesContent) {
  const Hash128 place = place_of(decoded());
  EXPECT_EQ(place, place_of(decoded()));
  EXPECT_NE(place, place_of(images("photos")));
  EXPECT_NE(place, place_of(decoded().resize(100)));
  EXPECT_NE(place_of(decoded().resize(100)), place_of(decoded().resize(101)));
  EXPECT_NE(place, place_of(images("photos").decode_image({.mode = "gray"})));
  EXPECT_NE(place, place_of(decoded().select({"image"})));
  EXPECT_NE(place, place_of(images("photos", {.split_by = "none"}).decode_image()));
}

TEST(PrefixIdentity, DoesNotDependOnSelectionAndOrder) {
  const Hash128 place = place_of(decoded());
  EXPECT_EQ(place, place_of(images("elsewhere").decode_image()));
  EXPECT_EQ(place, place_of(images("photos").shuffle().decode_image().take(10)));
  EXPECT_EQ(place, place_of(decoded().cache()));
  EXPECT_EQ(place, place_of(decoded().filter([](const Sample&) -> Result<bool> { return true; })));
  EXPECT_EQ(place, prefix_identity(decoded().cache().resize(7).batch(3).description(), 2));
}

TEST(PrefixIdentity, InAPartOfAZipIsThatOfThePartByItself) {
  const Pipeline part = images("photos").decode_image().cache().resize(8).cache();
  const Pipeline zipped = zip({{"a", files("x/*.bin").cache()}, {"b", part}});
  const Description branch = branches_of(zipped.description()).front().description;
  std::vector<Hash128> places;
  for (size_t i = 1; i < branch.steps().size(); ++i)
    if (branch.steps()[i].name == "cache" && branch.steps()[i].part == "b")
      places.push_back(prefix_identity_in_part(branch, i));
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0], prefix_identity(part.description(), 2));
  EXPECT_EQ(places[1], prefix_identity(part.description(), 4));
}

TEST(PrefixIdentity, InvalidUtf8IsDistinguished) {
  const auto chosen = [](const std::string& field) { return place_of(parquet("table").select({field})); };
  EXPECT_EQ(chosen("caf\xe9"), chosen("caf\xe9"));
  EXPECT_NE(chosen("caf\xe9"), chosen("caf\xe8"));
  EXPECT_NE(chosen("caf\xe9"), chosen("caf\xef\xbf\xbd")) << "what stands in for it elsewhere";
}

TEST(PrefixIdentity, FunctionsDifferByTheirVersion) {
  const MapFunction nothing = [](Sample&) { return Status(); };
  const MapFunction other = [](Sample&) { return Status(); };
  EXPECT_EQ(place_of(decoded().map(nothing, {.version = "1"})), place_of(decoded().map(other, {.version = "1"})));
  EXPECT_NE(place_of(decoded().map(nothing, {.version = "1"})), place_of(decoded().map(nothing, {.version = "2"})));
}

TEST(PrefixIdentity, AFunctionWithoutAVersionIsSharedByTheSameDescriptionOnly) {
  const MapFunction nothing = [](Sample&) { return Status(); };
  const Pipeline one = decoded().map(nothing), other = decoded().map(nothing), same = one;
  EXPECT_EQ(place_of(one), place_of(same));
  EXPECT_NE(place_of(one), place_of(other));
}

TEST(PrefixIdentity, IsDescribedWithoutSecrets) {
  const std::string text = prefix_description(
      files("https://user:secret@host/a.bin?X-Amz-Signature=alsosecret").shuffle().decode_image().cache().description(),
      3);
  EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  EXPECT_NE(text.find("host/a.bin"), std::string::npos) << text;
  EXPECT_NE(text.find(".decode_image("), std::string::npos) << text;
  EXPECT_EQ(text.find("shuffle"), std::string::npos) << text;
}

}  // namespace
}  // namespace forebay
