import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/**
 * HDFS and YARN of one node each on loopback, until standard input ends. The folder that is given gets their
 * files, and, once they work, site.xml with what clients have to know.
 */
public class MiniHadoop {
    public static void main(String[] arguments) {
        try {
            run(Path.of(arguments[0]));
            System.exit(0);
        } catch (Throwable error) {
            error.printStackTrace();
            System.exit(1);
        }
    }

    private static void run(Path folder) throws Exception {
        System.setProperty("test.build.data", folder.resolve("data").toString());
        System.setProperty("test.build.dir", folder.resolve("build").toString());
        System.setProperty("user.dir", folder.toString());
        YarnConfiguration conf = new YarnConfiguration();
        conf.set("dfs.replication", "1");
        MiniDFSCluster files = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
        files.waitActive();
        conf.setBoolean("yarn.is.minicluster", true);
        conf.set("yarn.resourcemanager.scheduler.class",
                "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler");
        conf.set("yarn.nodemanager.resource.memory-mb", "4096");
        conf.set("yarn.nodemanager.resource.cpu-vcores", "4");
        conf.set("yarn.scheduler.minimum-allocation-mb", "256");
        conf.set("yarn.nodemanager.vmem-check-enabled", "false");
        conf.set("yarn.nodemanager.pmem-check-enabled", "false");
        conf.set("yarn.nodemanager.disk-health-checker.enable", "false");
        MiniYARNCluster nodes = new MiniYARNCluster("kgroup", 1, 1, 1);
        nodes.init(conf);
        nodes.start();
        nodes.waitForNodeManagersToConnect(60_000);
        Path written = folder.resolve("site.part");
        try (OutputStream stream = Files.newOutputStream(written)) {
            forClients(nodes.getConfig()).writeXml(stream);
        }
        Files.move(written, folder.resolve("site.xml"), StandardCopyOption.ATOMIC_MOVE);
        while (System.in.read() >= 0) { }
    }

    private static Configuration forClients(Configuration all) {
        Configuration some = new Configuration(false);
        for (Map.Entry<String, String> entry : all) {
            String name = entry.getKey();
            if (name.equals("fs.defaultFS") || name.equals("yarn.is.minicluster")
                    || name.startsWith("yarn.resourcemanager.") && name.endsWith("address")) {
                some.set(name, all.get(name));
            }
        }
        return some;
    }
}
