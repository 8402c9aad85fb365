#include "other_trainers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tandem::app {
namespace {

constexpr const char* kPlaces = "the launcher places ranks: mpirun --hostfile, or sbatch --nodes";
constexpr const char* kStarts = "the launcher starts the ranks: mpirun -np N";
constexpr const char* kPerGpu =
    "the launcher starts one rank per GPU: mpirun -np N; --gpu-ids says which";
constexpr const char* kNumbers = "MPI numbers the ranks";
constexpr const char* kOneMpirun =
    "MPI numbers the ranks; start one mpirun, not one command per machine";
constexpr const char* kNoAddress = "MPI connects the ranks; no address is needed";
constexpr const char* kNoPort = "MPI connects the ranks; no port is needed";
constexpr const char* kLoader =
    "a thread of each rank prepares the next batch; --loader-threads adds more";
constexpr const char* kPacked =
    "tandem pack makes one file of a data set, once; --data names the file";
constexpr const char* kWholeModel =
    "each rank computes with the whole model; --share-weights keeps one copy of weights and "
    "optimizer state per host";
constexpr const char* kEvaluations =
    "all test images are evaluated, after each epoch; --eval-every says how often";
constexpr const char* kAlwaysWritten =
    "metrics.jsonl, TensorBoard's events and report.html are always in the run's folder";
constexpr const char* kExports =
    "python/to_tracker.py RUN --to wandb exports a run, also while it trains";
constexpr const char* kOutputGoes =
    "output goes where mpirun or the shell sends it: 2>&1 | tee log, or mpirun --output-filename";
constexpr const char* kSupervise =
    "jobs/supervise.sh N starts an mpirun again, jobs/requeue.sbatch a job";
constexpr const char* kShorter = "--max-steps N and a fraction of --epochs shorten a run";
constexpr const char* kWarmup = "--warmup-epochs counts epochs, and may be a fraction";
constexpr const char* kNoCompiler = "there is no compiler to choose; tandem brings its kernels";

// The other program's option, and tandem's.
constexpr std::pair<const char*, const char*> kOtherNames[] = {
    {"accelerator", "device"},
    {"accumulate-grad-batches", "accumulate"},
    {"adam-beta1", "beta1"},
    {"adam-beta2", "beta2"},
    {"adam-epsilon", "epsilon"},
    {"amp", "precision bf16"},
    {"arch", "model"},
    {"auto-augment", "augment"},
    {"autoresume", "resume auto"},
    {"bf16", "precision bf16"},
    {"check-val-every-n-epoch", "eval-every"},
    {"checkpoint", "resume"},
    {"ckpt-path", "resume"},
    {"clip-grad-norm", "clip-norm"},
    {"config-file", "config"},
    {"console-log-interval", "log-every"},
    {"cpu", "device cpu"},
    {"cuda", "device cuda"},
    {"dataloader-drop-last", "drop-last"},
    {"dataname", "name"},
    {"datapath", "input"},
    {"ddp-backend", "backend"},
    {"default-root-dir", "runs-dir"},
    {"deterministic-mode", "deterministic"},
    {"device-ids", "gpu-ids"},
    {"device-train-microbatch-size", "batch-size"},
    {"disable-tqdm", "no-progress"},
    {"dist-backend", "backend"},
    {"dry-run", "max-steps 1"},
    {"early-stop-patience", "early-stop"},
    {"early-stopping-patience", "early-stop"},
    {"ema-decay", "ema"},
    {"enable-each-rank-log", "log-ranks all"},
    {"enable-progress-bar", "progress"},
    {"eval-interval", "eval-every"},
    {"fast-dev-run", "max-steps 5"},
    {"fp16", "precision fp16"},
    {"freeze-layers", "freeze"},
    {"full-determinism", "deterministic"},
    {"gpu-idx", "gpu-ids"},
    {"gpu-per-proc", "ranks-per-node"},
    {"grad-accum", "accumulate"},
    {"grad-checkpointing", "gradient-checkpointing"},
    {"grad-clip", "clip-norm"},
    {"gradient-accumulation-steps", "accumulate"},
    {"gradient-clip-val", "clip-norm"},
    {"gradient-clipping", "clip-norm"},
    {"host", "hosts"},
    {"label-smoothing-factor", "label-smoothing"},
    {"learning-rate", "lr"},
    {"load-best-model-at-end", "save-best"},
    {"load-path", "init-from"},
    {"log-every-n-steps", "log-every"},
    {"log-interval", "log-every"},
    {"logging-dir", "runs-dir"},
    {"logging-steps", "log-every"},
    {"lr-gamma", "step-gamma"},
    {"lr-policy", "schedule"},
    {"lr-scheduler", "schedule"},
    {"lr-scheduler-type", "schedule"},
    {"lr-step-size", "step-epochs"},
    {"lr-steps", "step-epochs"},
    {"max-duration", "epochs"},
    {"max-epochs", "epochs"},
    {"max-grad-norm", "clip-norm"},
    {"mixed-precision", "precision"},
    {"model-ema", "ema"},
    {"model-ema-decay", "ema"},
    {"model-name-or-path", "model"},
    {"name", "run-id"},
    {"nnode", "nodes"},
    {"nnodes", "nodes"},
    {"no-cuda", "device cpu"},
    {"node", "nodes"},
    {"nproc-per-node", "ranks-per-node"},
    {"num-cpu-threads-per-process", "threads"},
    {"num-epochs", "epochs"},
    {"num-machines", "nodes"},
    {"num-nodes", "nodes"},
    {"num-train-epochs", "epochs"},
    {"opt", "optimizer"},
    {"optim", "optimizer"},
    {"output-dir", "runs-dir"},
    {"patience", "early-stop"},
    {"per-device-eval-batch-size", "eval-batch-size"},
    {"per-device-train-batch-size", "batch-size"},
    {"per-gpu-train-batch-size", "batch-size"},
    {"power", "polynomial-power"},
    {"pretrained", "init-from"},
    {"print-freq", "log-every"},
    {"print-freq-tr", "log-every"},
    {"profiler", "profile"},
    {"progress-bar", "progress"},
    {"replica-batch-size", "batch-size"},
    {"resume-from", "resume"},
    {"resume-from-checkpoint", "resume"},
    {"run-directory", "runs-dir"},
    {"run-name", "run-id"},
    {"save-dir", "runs-dir"},
    {"save-epochs", "checkpoint-every"},
    {"save-folder", "runs-dir"},
    {"save-interval", "checkpoint-every"},
    {"save-num-checkpoints-to-keep", "keep-checkpoints"},
    {"save-steps", "checkpoint-every"},
    {"save-total-limit", "keep-checkpoints"},
    {"sched", "schedule"},
    {"scheduler", "schedule"},
    {"sync-batchnorm", "sync-bn"},
    {"train-batch-size", "global-batch-size"},
    {"train-micro-batch-size-per-gpu", "batch-size"},
    {"use-cpu", "device cpu"},
    {"use-ema", "ema"},
    {"val-split", "validation-split"},
    {"warmup-length", "warmup-epochs"},
    {"wd", "weight-decay"},
    {"weights", "init-from"},
};

// The other program's option, and the reason why tandem has none.
constexpr std::pair<const char*, const char*> kAnswers[] = {
    {"auto-find-batch-size", "--plan shows the memory that a batch needs"},
    {"autotuning", "--plan predicts the time of a step; --bucket-mb auto measures"},
    {"backend", "only tandem train exchanges gradients"},
    {"base-rank", kNumbers},
    {"bind-cores-to-rank", "the launcher binds ranks: mpirun --bind-to, or srun --cpu-bind"},
    {"compile", kNoCompiler},
    {"cutmix-alpha", "--augment cutmix=A mixes images"},
    {"data-dir", kPacked},
    {"data-path", kPacked},
    {"dataloader-num-workers", kLoader},
    {"dataloader-pin-memory", "images that go to a GPU are in pinned memory already"},
    {"dataname", "tandem pack makes one file of a data set, with its name; --data names the file"},
    {"datapath", "tandem pack makes one file of a folder, once; --data names the file"},
    {"dataset", kPacked},
    {"dataset-name", kPacked},
    {"deepspeed", kWholeModel},
    {"deepspeed-config", "--config names a file of options; config.ini of a run is one"},
    {"dense-init-policy", "weights begin as those of PyTorch do; --seed gives others"},
    {"device", "this command computes on CPU cores"},
    {"devices", kPerGpu},
    {"dist-timeout", "--stall-abort ends a job whose ranks hang"},
    {"dist-url", kNoAddress},
    {"do-eval", kEvaluations},
    {"do-predict", "tandem predict classifies pictures"},
    {"do-train", "tandem train trains"},
    {"dynamo-backend", kNoCompiler},
    {"enable-checkpointing", "--checkpoint-every says how often there is one"},
    {"enable-model-summary", "tandem inspect shows a model"},
    {"eval-steps", kEvaluations},
    {"eval-strategy", kEvaluations},
    {"evaluate", "tandem eval tests a model"},
    {"evaluation-strategy", kEvaluations},
    {"exclude", kPlaces},
    {"fsdp", kWholeModel},
    {"gpu-per-proc",
     "the launcher starts one rank per GPU: mpirun --host n1:4,n2:4, or sbatch --ntasks-per-node"},
    {"gpus", kPerGpu},
    {"gradient-clip-algorithm", "--clip-norm limits the norm of the whole gradient"},
    {"host", kNoAddress},
    {"hostfile", "the launcher reads it: mpirun --hostfile FILE"},
    {"include", kPlaces},
    {"init-method", kNoAddress},
    {"initial-epoch", "--resume continues at the epoch of the checkpoint"},
    {"launcher", "mpirun or srun starts the ranks; tandem emit writes the line"},
    {"layer-decay", "--lr-scale gives layers factors of the learning rate"},
    {"limit-train-batches", kShorter},
    {"limit-val-batches", kEvaluations},
    {"local-rank", kNumbers},
    {"log-dir", kOutputGoes},
    {"logger", kAlwaysWritten},
    {"logterminal",
     "what is printed goes where the shell sends it (2>&1 | tee log), numbers into metrics.jsonl"},
    {"machine-rank", kOneMpirun},
    {"main-process-ip", kNoAddress},
    {"main-process-port", kNoPort},
    {"master", kNoAddress},
    {"master-addr", kNoAddress},
    {"master-port", kNoPort},
    {"max-restarts", kSupervise},
    {"max-train-samples", kShorter},
    {"metric-for-best-model", "--save-best compares accuracies"},
    {"mixup-alpha", "--augment mixup=A mixes images"},
    {"monitor-interval", kSupervise},
    {"mpirun-hostfile", "the launcher reads it: mpirun --hostfile FILE"},
    {"multi-gpu", kPerGpu},
    {"nnode", kPlaces},
    {"nnodes", kPlaces},
    {"node", kOneMpirun},
    {"node-rank", kOneMpirun},
    {"nodes", kPlaces},
    {"nproc", kStarts},
    {"nproc-per-node", kStarts},
    {"num-gpus", kPerGpu},
    {"num-machines", kPlaces},
    {"num-nodes", kPlaces},
    {"num-processes", kStarts},
    {"num-sanity-val-steps", "options, data set and model are checked before the first step"},
    {"num-workers", kLoader},
    {"overfit-batches", kShorter},
    {"overwrite-output-dir", "a run is never overwritten; give another --run-id"},
    {"print-freq-ts", "an evaluation is one line; --eval-every says how often there is one"},
    {"rank", kNumbers},
    {"rdzv-backend", "MPI connects the ranks: mpirun -np N"},
    {"rdzv-conf", kNoAddress},
    {"rdzv-endpoint", kNoAddress},
    {"rdzv-id", kNoAddress},
    {"redirects", kOutputGoes},
    {"report-to", kExports},
    {"same-network", kPlaces},
    {"save-model", "the model of a run is always in model/ of its folder"},
    {"save-strategy", "--checkpoint-every takes steps, epochs or seconds: 500, 2epochs or 600s"},
    {"scale-coslr", "--schedule cosine falls to zero over the whole training"},
    {"standalone", "MPI connects the ranks: mpirun -np N"},
    {"start-epoch", "--resume continues at the epoch of the checkpoint"},
    {"stderr", kOutputGoes},
    {"stdout", kOutputGoes},
    {"strategy", "ranks always train as one, as with DDP; there is no other strategy"},
    {"tee", kOutputGoes},
    {"test-only", "tandem eval tests a model"},
    {"torch-compile", kNoCompiler},
    {"use-deepspeed", kWholeModel},
    {"use-distributed-sampler", "the ranks share each epoch's images, each exactly once"},
    {"use-fsdp", kWholeModel},
    {"val-check-interval", kEvaluations},
    {"version", "tandem --version shows it"},
    {"warmup-ratio", kWarmup},
    {"warmup-steps", kWarmup},
    {"with-tracking", kExports},
    {"workers", kLoader},
    {"world-size", "MPI counts the ranks: mpirun -np N"},
    {"zero-stage", kWholeModel},
};

// Values: theirs and ours.
constexpr std::pair<const char*, const char*> kOtherValues[] = {
    {"16", "fp16"},       {"16-mixed", "fp16"}, {"32", "fp32"},       {"32-true", "fp32"},
    {"adam", "adamw"},    {"amp_bf16", "bf16"}, {"amp_fp16", "fp16"}, {"bf16-mixed", "bf16"},
    {"bfloat16", "bf16"}, {"float16", "fp16"},  {"float32", "fp32"},  {"gloo", "mpi"},
    {"gpu", "cuda"},      {"half", "fp16"},     {"mixed", "bf16"},    {"no", "fp32"},
    {"nvidia", "cuda"},   {"true", "auto"},     {"last", "auto"},     {"false", "none"},
};

template <typename Table>
const char* look_up(const Table& table, const std::string& name) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const auto& entry) { return name == entry.first; });
  return found == std::end(table) ? nullptr : found->second;
}

}  // namespace

const char* our_option(const std::string& name) { return look_up(kOtherNames, name); }
const char* answer_to(const std::string& name) { return look_up(kAnswers, name); }
const char* our_value(const std::string& value) { return look_up(kOtherValues, value); }

}  // namespace tandem::app
