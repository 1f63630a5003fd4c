#include "format/image_folder.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "store/local/local_store.h"
#include "store/memory/memory_store.h"
#include "store/scratch_folder.h"
#include "store/slow/slow_store.h"

namespace forebay {

namespace {

std::shared_ptr<MemoryStore> with(const std::vector<std::string>& keys) {
  auto store = memory_store();
  for (const auto& key : keys) store->put(key, std::string_view(key));
  return store;
}

Result<std::unique_ptr<ImageFolder>> open(std::shared_ptr<Store> store, const std::string& root,
                                          const ImageFolderOptions& options = {}) {
  return open_image_folder(std::move(store), root, options, {});
}

std::string text(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.data()), buffer.size()}; }

std::vector<std::string> keys_of(const ImageFolder& folder) {
  std::vector<std::string> keys;
  for (int64_t id = 0; id < folder.size(); ++id) {
    Record record;
    EXPECT_TRUE(folder.load(id, {}, record).ok());
    keys.push_back(text(record.back().bytes));
  }
  return keys;
}

}  // namespace

TEST(ImageFolder, IdsAreRanksOfKeysAndLabelsAreRanksOfFolders) {
  // In byte order "a-b/x" comes before "a/x", but the class "a" before the class "a-b".
  const auto folder =
      open(with({"r/b/1.jpg", "r/a/deep/er/2.PNG", "r/a/1.jpg", "r/a-b/x.webp", "other/x.jpg"}), "r").value();
  EXPECT_EQ(keys_of(*folder), (std::vector<std::string>{"a-b/x.webp", "a/1.jpg", "a/deep/er/2.PNG", "b/1.jpg"}));
  EXPECT_EQ(std::vector<std::string>(folder->classes().begin(), folder->classes().end()),
            (std::vector<std::string>{"a", "a-b", "b"}));
  std::vector<int64_t> labels;
  for (int64_t id = 0; id < folder->size(); ++id) labels.push_back(folder->label(id));
  EXPECT_EQ(labels, (std::vector<int64_t>{1, 0, 0, 2}));
}

TEST(ImageFolder, FieldsAndFetch) {
  const auto folder = open(with({"r/a/1.jpg", "r/b/2.jpg"}), "r/").value();
  ASSERT_EQ(folder->schema().names(), "image, label, key");
  EXPECT_TRUE(folder->schema()[0].fetched);
  const auto fetch = folder->fetch(1);
  EXPECT_EQ(fetch.request.key, "r/b/2.jpg");
  EXPECT_EQ(fetch.size, 9u);
  EXPECT_EQ(fetch.request.expected_size, 9u);
  Record record;
  ASSERT_TRUE(folder->load(1, read_wait(*fetch.store, fetch.request, {}).value(), record).ok());
  EXPECT_EQ(text(record[0].bytes), "r/b/2.jpg");
  EXPECT_EQ(record[1].dtype(), DType::kInt64);
  EXPECT_EQ(record[1].shape().rank(), 0u);
  EXPECT_EQ(*record[1].tensor.data<int64_t>(), 1);
  EXPECT_EQ(text(record[2].bytes), "b/2.jpg");
  EXPECT_EQ(folder->key(1), "memory:r/b/2.jpg");
  const int64_t ids[] = {1, 0, 1};
  int64_t labels[3];
  ASSERT_TRUE(folder->gathers(1));
  EXPECT_FALSE(folder->gathers(0));
  ASSERT_TRUE(folder->gather(1, ids, reinterpret_cast<uint8_t*>(labels)).ok());
  EXPECT_EQ(labels[0], 1);
  EXPECT_EQ(labels[1], 0);
}

TEST(ImageFolder, TellsWhatItLeftOut) {
  const auto folder = open(with({"a/1.jpg", "a/notes.txt", "a/x.tar.gz", "b/.hidden.jpg", ".git/x.jpg", "README",
                                 "b/n.txt", "c/1.jpeg", "c/2.jfif", "c/3.jpe", "c/4.bmp", "c/5.gif", "c/.jpg"}),
                           "")
                          .value();
  const ImageFolderReport& report = folder->report();
  EXPECT_EQ(folder->size(), 5);
  EXPECT_EQ(report.skipped_hidden, 3u);
  EXPECT_EQ(report.skipped_not_images, 5u);
  EXPECT_EQ(report.not_images, (std::vector<std::string>{"README", "a/notes.txt", "a/x.tar.gz", "b/n.txt", "c/5.gif"}));
  EXPECT_EQ(report.extensions.at("txt"), 2u);
  EXPECT_EQ(report.extensions.at(""), 1u);
  EXPECT_EQ(report.empty_classes, std::vector<std::string>{"b"});
  EXPECT_EQ(folder->classes().size(), 3u) << "a class without pictures keeps its label";
  EXPECT_EQ(folder->label(4), 2);
}

TEST(ImageFolder, SaysWhatIsWrongAndTheWayOut) {
  const auto expect = [](const Status& status, Code code, std::vector<std::string> parts) {
    EXPECT_EQ(status.code(), code) << status.to_string();
    for (const auto& part : parts) EXPECT_NE(status.to_string().find(part), std::string::npos) << status.to_string();
  };
  ScratchFolder scratch;
  const auto local = local_store("");
  expect(open(local, scratch.path("none")).status(), Code::kNotFound, {scratch.path("none"), "no such folder"});
  expect(open(local, scratch.path()).status(), Code::kNotFound, {scratch.path(), "empty"});
  scratch.write("a/x.txt", "1");
  scratch.write("a/y.txt", "1");
  scratch.write("b/z.tif", "1");
  expect(open(local, scratch.path()).status(), Code::kNotFound, {"1 .tif, 2 .txt"});
  expect(open(with({"r/1.jpg", "r/2.jpg"}), "r").status(), Code::kInvalidArgument,
         {"2 pictures", "no sub-folders", "fb.files(\"memory:r/*\")"});
  expect(open(with({"r/1.jpg", "r/a/2.jpg"}), "r").status(), Code::kInvalidArgument,
         {"1.jpg", "beside the 1 class folder"});
  expect(open(with({"r/a/2.jpg"}), "r", {.split_by = "name"}).status(), Code::kInvalidArgument, {"split_by='name'"});
}

TEST(ImageFolder, WithoutLabelsPicturesMayLieAnywhere) {
  const auto folder = open(with({"1.jpg", "a/2.jpg"}), "", {.split_by = "none"}).value();
  EXPECT_EQ(folder->size(), 2);
  EXPECT_EQ(folder->schema().names(), "image, key");
  EXPECT_FALSE(folder->gathers(1));
  Record record;
  ASSERT_TRUE(folder->load(1, {}, record).ok());
  EXPECT_EQ(text(record[1].bytes), "a/2.jpg");
}

TEST(ImageFolder, LinksThatRunInCirclesEnd) {
  ScratchFolder scratch;
  scratch.write("cats/1.jpg", "1");
  scratch.write("dogs/1.jpg", "12");
  std::filesystem::create_symlink("..", scratch.path("cats/up"));
  std::filesystem::create_symlink("../dogs", scratch.path("cats/friends"));
  std::filesystem::create_symlink("../cats", scratch.path("dogs/enemies"));
  const auto folder = open(local_store(scratch.path()), "").value();
  EXPECT_EQ(keys_of(*folder),
            (std::vector<std::string>{"cats/1.jpg", "cats/friends/1.jpg", "dogs/1.jpg", "dogs/enemies/1.jpg"}));
  EXPECT_GE(folder->report().skipped_irregular, 3u);
}

TEST(ImageFolder, FilesThatLookLikeDataAreToldAndNoClassIsEmptyByThem) {
  DataWarnings warnings;
  const auto store = with({"a/1.jpg", "a/2.tif", "a/README.md", "b/1.jpg", "b/1.GIF", "x.zip"});
  ASSERT_TRUE(open(store, "", {.warnings = &warnings}).ok());
  ASSERT_EQ(warnings.list().size(), 1u);
  EXPECT_EQ(warnings.list()[0].count, 3);
  EXPECT_EQ(warnings.list()[0].first, "a/2.tif");
  store->put("c/1.tif", "x");
  EXPECT_EQ(open(store, "").status().code(), Code::kUnsupported);
  EXPECT_TRUE(open(store, "", {.split_by = "none"}).ok()) << "without classes none can be empty";
}

TEST(ImageFolder, DeadLinksKeepTheirPlace) {
  ScratchFolder scratch;
  scratch.write("a/1.jpg", "1");
  scratch.write("c/1.jpg", "12");
  std::filesystem::create_symlink("/not/fetched", scratch.path("a/2.jpg"));
  const auto folder = open(local_store(scratch.path()), "").value();
  EXPECT_EQ(keys_of(*folder), (std::vector<std::string>{"a/1.jpg", "a/2.jpg", "c/1.jpg"}));
  const auto fetch = folder->fetch(1);
  EXPECT_EQ(read_wait(*fetch.store, fetch.request, {}).status().code(), Code::kNotFound);
  std::filesystem::create_symlink("/not/mounted", scratch.path("b"));
  EXPECT_EQ(open(local_store(scratch.path()), "").status().code(), Code::kNotFound) << "it may be a class";
}

TEST(ImageFolder, GivenClassesKeepTheirLabels) {
  DataWarnings warnings;
  const auto folder =
      open(with({"a/1.jpg", "c/1.jpg", "d/1.jpg"}), "", {.classes = {"c", "b", "a"}, .warnings = &warnings}).value();
  EXPECT_EQ(keys_of(*folder), (std::vector<std::string>{"a/1.jpg", "c/1.jpg"}));
  EXPECT_EQ(folder->label(0), 2);
  EXPECT_EQ(folder->label(1), 0);
  ASSERT_EQ(warnings.list().size(), 1u);
  EXPECT_EQ(warnings.list()[0].first, "d");
  EXPECT_EQ(open(with({"d/1.jpg"}), "", {.classes = {"a"}}).status().code(), Code::kNotFound);
}

TEST(ImageFolder, TheVersionDoesNotDependOnPlaceOrOrderOfListing) {
  ScratchFolder scratch;
  auto memory = memory_store();
  for (int i = 0; i < 200; ++i) {
    const std::string key = fmt::format("c{}/{}.jpg", i % 7, i * 31 % 200);
    const std::string bytes(static_cast<size_t>(i), 'x');
    scratch.write("deep/root/" + key, bytes);
    memory->put("r/" + key, std::string_view(bytes));
  }
  const auto local = open(local_store(scratch.path()), "deep/root").value();
  const auto in_memory = open(memory, "r").value();
  const auto slow = open(slow_store(memory, {.seed = 5, .jitter_ms = 3}), "r").value();
  EXPECT_EQ(local->version(), in_memory->version());
  EXPECT_EQ(slow->version(), in_memory->version());
  EXPECT_LE(local->index_bytes(), 200 * 16 + 200 * 9 + 7 * 60);
  memory->put("r/c0/0.jpg", "another size");
  EXPECT_FALSE(open(memory, "r").value()->version() == in_memory->version());
}

TEST(ImageFolder, AnyNameBytes) {
  ScratchFolder scratch;
  const std::vector<std::string> keys = {"\xff\xfe/\x80.jpg", "Schl\xc3\xb6\xc3\x9f/b\nc.jpg", "c d/e f.JPG"};
  for (const auto& key : keys) scratch.write(key, key);
  const auto folder = open(local_store(scratch.path()), "").value();
  ASSERT_EQ(folder->size(), 3);
  for (int64_t id = 0; id < 3; ++id) {
    const auto fetch = folder->fetch(id);
    EXPECT_EQ(text(read_wait(*fetch.store, fetch.request, {}).value()), fetch.request.key);
  }
}

TEST(ImageFolder, AStopEndsTheListing) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(open_image_folder(with({"a/1.jpg"}), "", {}, stop.get_token()).status().code(), Code::kCancelled);
}

TEST(ImageFolder, AFailureOfTheStoreEndsTheListing) {
  const auto store = slow_store(with({"a/1.jpg", "b/1.jpg", "c/1.jpg"}), {.error_rate = 1});
  EXPECT_EQ(open(store, "").status().code(), Code::kUnavailable);
}

TEST(ImageFolder, ASampleIsIdentifiedByItsFileAndItsLabel) {
  ScratchFolder scratch;
  scratch.write("b/1.jpg", "one");
  scratch.write("b/2.jpg", "two");
  const auto identities = [&](bool keep_versions) {
    const auto folder = open(local_store(scratch.path()), "", {.keep_versions = keep_versions}).value();
    std::map<std::string, std::optional<Identity>> found;
    for (int64_t id = 0; id < folder->size(); ++id) found[folder->key(id)] = folder->identity(id);
    return found;
  };
  EXPECT_FALSE(identities(false)[scratch.path("b/1.jpg")]) << "nobody asked for versions";
  const auto before = identities(true);
  ASSERT_TRUE(before.at(scratch.path("b/1.jpg")));
  EXPECT_EQ(before, identities(true));

  scratch.write("b/0.jpg", "new");
  scratch.write("b/aside", "TWO");
  std::filesystem::rename(scratch.path("b/aside"), scratch.path("b/2.jpg"));
  auto after = identities(true);
  EXPECT_EQ(after[scratch.path("b/1.jpg")], before.at(scratch.path("b/1.jpg"))) << "another file came";
  EXPECT_NE(after[scratch.path("b/2.jpg")], before.at(scratch.path("b/2.jpg"))) << "this file is another one";

  scratch.write("a/1.jpg", "another class");
  EXPECT_NE(identities(true)[scratch.path("b/1.jpg")], before.at(scratch.path("b/1.jpg"))) << "its label is 1 now";
}

TEST(ImageFolder, WhereAStoreKnowsNoVersionsNothingIsIdentified) {
  EXPECT_FALSE(open(with({"a/1.jpg"}), "", {.keep_versions = true}).value()->identity(0));
}

}  // namespace forebay
