/* Stands in for NVIDIA's driver library, as libcuda.so.1: it names GPUs, and no more. What it answers is in variables:
 *
 *   FAKE_CUDA_GPUS     "0000:3B:00.0 NVIDIA H100;0000:5E:00.0 NVIDIA H100": bus id and name of each; a name with MIG is a slice
 *   FAKE_CUDA_VERSION  what cuDriverGetVersion says, 13000 where it is not set
 *   FAKE_CUDA_INIT     what cuInit returns, 0 where it is not set
 *   FAKE_CUDA_HANGS    set: cuInit does not return
 *
 * CUDA_VISIBLE_DEVICES counts as it does for CUDA: numbers, or beginnings of "GPU-…" and "MIG-…", up to the first that is
 * none. A uuid is made of host name and bus id, and of its place where it is a slice. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NO_DEVICE = 100, MOST_GPUS = 64 };

struct gpu {
  char bus_id[16];
  char name[64];
  unsigned char uuid[16];
};

static struct gpu gpus[MOST_GPUS];
static int count;

static void make_uuid(struct gpu* gpu, int place) {
  char text[512];
  size_t used = gethostname(text, 256) == 0 ? strlen(text) : 0;
  snprintf(text + used, sizeof text - used, "/%s/%d", gpu->bus_id, strstr(gpu->name, "MIG") ? place : -1);
  unsigned long long hash = 1469598103934665603ULL; /* FNV-1a */
  for (int i = 0; i < 16; ++i) {
    for (const char* c = text; *c; ++c) hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
    gpu->uuid[i] = (unsigned char)(hash >> 32);
  }
}

static void uuid_text(const struct gpu* gpu, char* text) {
  text += sprintf(text, strstr(gpu->name, "MIG") ? "MIG-" : "GPU-");
  for (int i = 0; i < 16; ++i) text += sprintf(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", gpu->uuid[i]);
}

static int all_gpus(struct gpu* all) {
  int found = 0;
  char* words = strdup(getenv("FAKE_CUDA_GPUS") ? getenv("FAKE_CUDA_GPUS") : "");
  char* rest = NULL;
  for (char* word = strtok_r(words, ";", &rest); word && found < MOST_GPUS; word = strtok_r(NULL, ";", &rest)) {
    if (sscanf(word, "%15s %63[^;]", all[found].bus_id, all[found].name) != 2) continue;
    make_uuid(&all[found], found);
    ++found;
  }
  free(words);
  return found;
}

static int place_of(const char* word, const struct gpu* all, int existing) {
  char* end = NULL;
  long number = strtol(word, &end, 10);
  if (end != word && *end == '\0') return number >= 0 && number < existing ? (int)number : -1;
  for (int i = 0; i < existing; ++i) {
    char text[64];
    uuid_text(&all[i], text);
    if (strlen(word) > 4 && strncmp(word, text, strlen(word)) == 0) return i;
  }
  return -1;
}

int cuInit(unsigned flags) {
  (void)flags;
  while (getenv("FAKE_CUDA_HANGS")) pause();
  const char* error = getenv("FAKE_CUDA_INIT");
  if (error && atoi(error) != SUCCESS) return atoi(error);
  struct gpu all[MOST_GPUS];
  int existing = all_gpus(all);
  const char* visible = getenv("CUDA_VISIBLE_DEVICES");
  count = 0;
  if (!visible) {
    for (; count < existing; ++count) gpus[count] = all[count];
  } else {
    char* words = strdup(visible);
    char* rest = NULL;
    for (char* word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
      int place = place_of(word, all, existing);
      if (place < 0 || count == MOST_GPUS) break;
      gpus[count++] = all[place];
    }
    free(words);
  }
  return count > 0 ? SUCCESS : NO_DEVICE;
}

int cuDriverGetVersion(int* version) {
  const char* text = getenv("FAKE_CUDA_VERSION");
  *version = text ? atoi(text) : 13000;
  return SUCCESS;
}

int cuGetErrorName(int error, const char** name) {
  *name = error == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : error == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : NULL;
  return *name ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetCount(int* number) {
  *number = count;
  return SUCCESS;
}

int cuDeviceGet(int* device, int place) {
  *device = place;
  return place >= 0 && place < count ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetName(char* text, int size, int device) {
  snprintf(text, (size_t)size, "%s", gpus[device].name);
  return SUCCESS;
}

int cuDeviceGetPCIBusId(char* text, int size, int device) {
  snprintf(text, (size_t)size, "%s", gpus[device].bus_id);
  return SUCCESS;
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = (size_t)80 << 30;
  return SUCCESS;
}

int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  memcpy(uuid, gpus[device].uuid, sizeof gpus[device].uuid);
  return SUCCESS;
}
